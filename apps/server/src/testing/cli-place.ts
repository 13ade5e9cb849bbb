import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Clock, createClock } from '@tidegate/testkit/clock';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { createIds } from '@tidegate/testkit/ids';
import { onTestFinished } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { readConfig } from '../config.ts';
import { createLog } from '../platform/log.ts';
import { startServer } from '../start.ts';
import type { EnginePlace, TestEngine } from './engines.ts';
import { NO_REGISTRIES_ENV } from './no-registries.ts';

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

export interface CliPlace {
  dataDir: string;
  databaseUrl: string | null;
  clock: Clock;
  /** Starts a server on the data directory; it stops with the test. */
  start(): Promise<{ url: string; stop: () => Promise<void> }>;
  /** Runs a `tidegate` command in this process, on the test's clock. */
  run(words: readonly string[], options?: { stdin?: string; env?: Record<string, string> }): Promise<Ran>;
  /** The same in a separate process, as beside a running server. */
  spawn(words: readonly string[], options?: { stdin?: string }): Promise<Ran>;
}

/** A data directory and database for tests of the server's command line; no server has used it yet. */
export async function createCliPlace(engine: TestEngine): Promise<CliPlace> {
  return openPlace(await engine.place(), { clock: startClock(), seed: 'cli' });
}

/**
 * The same after a server has started and stopped there once, and after `prepare`. That is done once for each
 * engine; every test has a copy.
 */
export function servedPlaces({
  newClock = startClock,
  prepare = async () => {},
}: {
  newClock?: () => Clock;
  prepare?: (place: CliPlace) => Promise<void>;
} = {}): (engine: TestEngine) => Promise<CliPlace> {
  const templates = new Map<TestEngine['name'], Promise<EnginePlace>>();

  async function make(engine: TestEngine): Promise<EnginePlace> {
    const place = await openPlace(await engine.template(), { clock: newClock(), seed: 'served' });
    await (await place.start()).stop();
    await prepare(place);
    return place;
  }

  return async (engine) => {
    const template = templates.get(engine.name) ?? make(engine);
    templates.set(engine.name, template);
    return openPlace(await engine.copy(await template), { clock: newClock(), seed: 'cli' });
  };
}

/** A data directory and database on which a server has been once. */
export const createServedPlace = servedPlaces();

/** The data directory of a place with a database that `tidegate restore` may fill: on SQLite it replaces the one there. */
export async function withEmptyDatabase(engine: TestEngine, { dataDir, clock }: CliPlace): Promise<CliPlace> {
  const { databaseUrl } = await engine.place();
  return openPlace({ dataDir, databaseUrl }, { clock, seed: 'restored' });
}

function startClock(): Clock {
  return createClock(Date.UTC(2026, 10, 21, 9));
}

function openPlace(
  { dataDir, databaseUrl }: EnginePlace,
  { clock, seed }: { clock: Clock; seed: string },
): CliPlace {
  const env: Record<string, string> = {
    SERVICE_DATA_DIR: dataDir,
    SERVICE_PORT: '0',
    SERVICE_HOST: '127.0.0.1',
    SERVICE_ADVISORY_SOURCE: 'off',
    ...NO_REGISTRIES_ENV,
    ...(databaseUrl === null ? {} : { SERVICE_DATABASE_URL: databaseUrl }),
  };
  const ids = createIds(clock, seed);
  const random = (n: number) => Buffer.from(ids.bytes(n));
  return {
    dataDir,
    databaseUrl,
    clock,
    async start() {
      const read = readConfig(env);
      if (!read.ok) throw new Error(read.fault);
      const log = createLog({ level: 'error', format: 'text', now: clock.now, write: () => {} });
      const started = await startServer(read.config, { log, now: clock.now, random });
      if (!started.ok) throw new Error(started.fault);
      onTestFinished(started.stop);
      return { url: started.url, stop: started.stop };
    },
    async run(words, { stdin = '', env: more = {} } = {}) {
      const out: string[] = [];
      const err: string[] = [];
      const code = await runCommand(words, {
        env: { ...env, ...more },
        now: clock.now,
        random,
        out: (line) => out.push(line),
        err: (line) => err.push(line),
        isTerminal: false,
        stdin: Readable.from([stdin]),
      });
      return { code, out: out.join('\n'), err: err.join('\n') };
    },
    async spawn(words, { stdin = '' } = {}) {
      const main = fileURLToPath(new URL('../main.ts', import.meta.url));
      const child = spawn(process.execPath, [main, ...words], {
        env: { ...env, ...compiledModules() },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      child.stdin.end(stdin);
      const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
      return { code, out, err };
    },
  };
}
