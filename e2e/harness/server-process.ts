import { join } from 'node:path';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { freePort } from '@tidegate/testkit/free-port';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { BUILT_SERVER } from '../../scripts/release/build-server.ts';
import { type Child, startChild } from './child.ts';

/** A loopback port where nobody listens; stories about npm or PyPI set their own registries. */
const NO_REGISTRIES = {
  SERVICE_NPM_REGISTRY_URL: 'http://127.0.0.1:9',
  SERVICE_PYPI_URL: 'http://127.0.0.1:9',
};

/** Settings of a story that waits for what the server does now and then. */
export const OFTEN = { SERVICE_SWEEP_INTERVAL_SECONDS: '1' };

/** The first operator of every story's server. */
export const OPERATOR = { username: 'olga', password: 'a long enough password' } as const;

export type ServerOptions = {
  dataDir: string;
  /** SQLite in the data folder if null or omitted. */
  databaseUrl?: string | null;
  /** The OSV API to use. */
  advisoryUrl: string;
  /** OSV's exports; with them the source is the default, the mirror with the API as fallback. */
  exportUrl?: string;
  /** More settings by name; they override those above. */
  env?: Record<string, string>;
  /** The program and its first arguments; by default the sources of this version. */
  program?: Program;
};

type Program = readonly [command: string, ...args: string[]];

/** The server of this version. */
export const THIS_VERSION: Program = [process.execPath, join(BUILT_SERVER, 'server/main.js')];
/** The same as words of a shell, for commands of `tidegate`. */
export const TIDEGATE = THIS_VERSION.map((word) => `"${word}"`).join(' ');

/** The real server as its own process. */
export type ServerProcess = {
  readonly url: string;
  readonly pid: number;
  /** Every line of the log so far, over all restarts. */
  lines(): string[];
  /** The next log line that matches, or an earlier one. */
  line(pattern: RegExp, withinMs?: number): Promise<string>;
  /** Sends SIGKILL, so nothing is flushed; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>;
  /** Starts it, or another version of it, again on the same data and the same port. */
  restart(env?: Record<string, string>, program?: Program): Promise<void>;
  /** Runs a `tidegate` command beside the server, on its data; throws with what it says unless it succeeds. */
  command(...words: string[]): Promise<string>;
};

/** Starts a server on a free port, which nobody else takes while it restarts, and waits until it listens. */
export async function startServer(given: ServerOptions): Promise<ServerProcess> {
  const earlier: string[] = [];
  let options = given;
  let child = start(options, await freePort());
  const url = await listening(child);
  const port = Number(new URL(url).port);

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (!child.hasEnded()) child.signal(signal);
    return (await child.ended).code;
  }

  return {
    url,
    get pid() {
      return child.pid;
    },
    lines: () => [...earlier, ...child.stdout, ...child.stderr],
    line: (pattern, withinMs) => child.line(pattern, withinMs),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    restart: async (env = {}, program = options.program ?? THIS_VERSION) => {
      await end('SIGTERM');
      earlier.push(...child.stdout, ...child.stderr);
      options = { ...options, program };
      child = start({ ...options, env: { ...options.env, ...env } }, port);
      await listening(child);
    },
    command: async (...words) => {
      const run = start(options, port, words);
      const { code } = await run.ended;
      if (code !== 0) throw new Error(`tidegate ended with ${code}: ${run.stderr.join('\n')}`);
      return run.stdout.join('\n');
    },
  };
}

function start(
  {
    dataDir,
    databaseUrl,
    advisoryUrl,
    exportUrl,
    env,
    program: [command, ...args] = THIS_VERSION,
  }: ServerOptions,
  port: number,
  words: readonly string[] = [],
): Child {
  return startChild(command, [...args, ...words], {
    env: {
      PATH: SYSTEM_PATH,
      SERVICE_HOST: '127.0.0.1',
      SERVICE_PORT: String(port),
      SERVICE_DATA_DIR: dataDir,
      ...(databaseUrl ? { SERVICE_DATABASE_URL: databaseUrl } : {}),
      SERVICE_ADVISORY_API_URL: advisoryUrl,
      SERVICE_ADVISORY_EXPORT_URL: exportUrl ?? 'none',
      ...(exportUrl === undefined ? { SERVICE_ADVISORY_SOURCE: 'api' } : {}),
      ...compiledModules(),
      ...NO_REGISTRIES,
      SERVICE_ADMIN_USERNAME: OPERATOR.username,
      SERVICE_ADMIN_PASSWORD: OPERATOR.password,
      ...env,
    },
  });
}

async function listening(child: Child): Promise<string> {
  const line = await child.line(/\[INFO\] listening .*url=/);
  const url = /url=(\S+)/.exec(line)?.[1];
  if (url === undefined) throw new Error(`no address in "${line}"`);
  return url;
}
