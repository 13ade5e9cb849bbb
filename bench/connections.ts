import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createSelfSigned, type TestPair } from '@tidegate/testkit/certificates';
import { tmpDir } from '@tidegate/testkit/tmp';
import { keptConnections, openFilesMax } from '../apps/server/src/platform/http/open-connections.ts';
import { checkInRequest } from './check-in.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import type { HeldAnswer, HeldOrder } from './held-sockets.ts';
import { runLoad } from './load.ts';
import type { MemoryAtRest } from './memory-on-signal.ts';
import { type Handshake, runNewConnections } from './new-connections.ts';
import { drawPage } from './page.ts';
import { cpuOf, median, memoryOf, pinLoad, startServerProcess } from './processes.ts';
import { finishRecord, type Point, type RunRecord, startRecord, writeRecord } from './record.ts';
import { HELLO } from './rounds.ts';
import type { BenchOptions } from './run.ts';

/** Sockets of one process of the load, below its own limit of open files. */
const SOCKETS_OF_PROCESS = 15_000;
const WARM_UP_SECONDS = 3;
/**
 * Check-ins a second of the ways that are not saturated. Connections of one core at saturation are a row without a gap, which
 * the server takes for a herd and refuses.
 */
const PACE = 500;

interface OfSocket {
  /** Open ones: a slow run leaves some idle for longer than the server keeps them. */
  sockets: number;
  /** Bytes for each, after a full collection. */
  residentBytes: number;
  heapBytes: number;
  externalBytes: number;
}

interface Result {
  record: RunRecord;
  /** Memory of an idle socket, by engine and scheme. */
  memory: Record<string, OfSocket>;
}

/** A way to bring a check-in: runs for so many seconds, and tells how long each took. */
type Way = (seconds: number, perSecond?: number) => Promise<number[]>;

/**
 * What the open sockets of --agents hosts cost while they wait, and what a check-in costs on one of them and on a connection of
 * its own, with and without TLS of the server.
 */
export async function benchConnections(options: BenchOptions): Promise<Result> {
  const { engines, agents, say } = options;
  const filesMax = openFilesMax() ?? Number.POSITIVE_INFINITY;
  if (agents > keptConnections(filesMax))
    throw new Error(
      `a limit of ${filesMax} open files keeps ${keptConnections(filesMax)} connections; raise ulimit -n`,
    );
  // Counts the cores before the process is confined to one.
  const started = startRecord();
  if (!pinLoad()) say('one core, or no taskset: server and load share the core');
  const points: Point[] = [];
  const memory: Record<string, OfSocket> = {};
  const hello = await startServerProcess(join(import.meta.dirname, 'hello.ts'));
  try {
    for (const engine of engines) {
      for (const pair of [null, await createSelfSigned(['localhost'])]) {
        const title = `${engine}, ${pair === null ? 'http' : 'https'}`;
        const found = await measureServer(options, { engine, pair, hello, title });
        if ('missing' in found) say(`${engine} is left out: ${found.missing}`);
        else {
          memory[title] = found.memory;
          points.push(...found.points);
        }
      }
    }
  } finally {
    await hello.stop();
  }
  const record = finishRecord(started, points);
  say(`written: ${writeRecord(record, 'connections')} and ${drawPage([record], CONNECTIONS_PAGE)}`);
  return { record, memory };
}

const CONNECTIONS_PAGE = {
  file: 'connections.html',
  title: 'Cost of a connection',
  about: `Idle check-ins, ${PACE} a second where not saturated, while the sockets of all agents stay open. The server has one core, the load another; the hello
is a bare node:http server in the same rounds.`,
};

interface Measured {
  engine: 'sqlite' | 'postgres';
  /** Null: over plain HTTP. */
  pair: TestPair | null;
  hello: { pid: number; url: string };
  title: string;
}

async function measureServer(options: BenchOptions, of: Measured) {
  const { agents, say } = options;
  const { engine, pair, title } = of;
  using folder = tmpDir('tidegate-bench-memory-');
  const memoryFile = join(folder.path, 'memory.json');
  const preload = pathToFileURL(join(import.meta.dirname, 'memory-on-signal.ts')).href;
  const fleet = await startFleet(engine, {
    agents,
    nodeFlags: ['--expose-gc', '--import', preload],
    env: {
      TIDEGATE_BENCH_MEMORY: memoryFile,
      ...(pair && { SERVICE_TLS_CERT: pair.cert, SERVICE_TLS_KEY: pair.key }),
    },
  });
  if ('missing' in fleet) return fleet;
  const holders: ChildProcess[] = [];
  try {
    const ways = waysOf(fleet, { pair, holders });
    for (const [name, way] of Object.entries(ways))
      if (!HELD.includes(name)) await way(WARM_UP_SECONDS, PACE / 5);
    const before = await memoryAtRest(fleet.pid, memoryFile);
    holders.push(...(await holdSockets(fleet, pair)));
    const after = await memoryAtRest(fleet.pid, memoryFile);
    const answers = await Promise.all(
      holders.map((holder) => tell(holder, { kind: 'poll', seconds: 0, perSecond: null })),
    );
    const sockets = agents - answers.reduce((sum, { ended }) => sum + ended, 0);
    const each = (key: keyof MemoryAtRest) => Math.round((after[key] - before[key]) / sockets);
    const memory = {
      sockets,
      ...{ residentBytes: each('rss'), heapBytes: each('heapUsed'), externalBytes: each('external') },
    };
    say(`${title}: ${JSON.stringify(memory)}`);
    return { memory, points: await measureWays(options, { ...of, fleet, ways }) };
  } finally {
    for (const holder of holders) holder.kill();
    await fleet.stop();
  }
}

/** Ways over the sockets that are held. */
const HELD = ['kept', 'kept, saturated'];

function waysOf(
  { url, agents }: BenchServer,
  { pair, holders }: { pair: TestPair | null; holders: readonly ChildProcess[] },
): Record<string, Way> {
  const ca = pair?.cert ?? null;
  const requests = agents.map((agent) => closing(checkInRequest(agent)));
  const overHeld = async (seconds: number, perSecond: number | null) => {
    const pace = perSecond === null ? null : perSecond / holders.length;
    const answers = await Promise.all(
      holders.map((holder) => tell(holder, { kind: 'poll', seconds, perSecond: pace })),
    );
    return answers.flatMap(({ latenciesMs }) => latenciesMs);
  };
  const overNew =
    (handshake: Handshake): Way =>
    (seconds, perSecond = PACE) =>
      runNewConnections({ url, ca, requests, handshake, seconds, perSecond });
  return {
    kept: (seconds) => overHeld(seconds, PACE),
    'kept, saturated': (seconds) => overHeld(seconds, null),
    ...(ca === null
      ? { new: overNew('none') }
      : { 'full handshake': overNew('full'), 'resumed session': overNew('resumed') }),
  };
}

function closing(request: Buffer): Buffer {
  return Buffer.from(
    request.toString('latin1').replace('host: bench', 'host: bench\r\nconnection: close'),
    'latin1',
  );
}

async function measureWays(
  { rounds, seconds, agents, say }: BenchOptions,
  { hello, fleet, ways, title }: Measured & { fleet: BenchServer; ways: Record<string, Way> },
): Promise<Point[]> {
  const helloUs: number[] = [];
  const figures = Object.keys(ways).map((way): { way: string; rounds: Round[] } => ({ way, rounds: [] }));
  for (let round = 1; round <= rounds; round++) {
    const helloBefore = cpuOf(hello.pid);
    const floor = await runLoad({ url: hello.url, connections: 64, seconds, requests: [HELLO] });
    helloUs.push((cpuOf(hello.pid) - helloBefore) / floor.requests);
    for (const one of figures) {
      const figure = await measureRound(fleet, { seconds, way: ways[one.way] });
      one.rounds.push(figure);
      say(
        `${title}, ${one.way} ${round}/${rounds}: hello ${helloUs.at(-1)?.toFixed(1)} µs, ${figure.cpuUs.toFixed(1)} µs, ${figure.perSecond.toFixed(0)}/s`,
      );
    }
  }
  const rssMb = Math.round(memoryOf(fleet.pid).rssKb / 1_024);
  return figures.map(({ way, rounds: of }) => {
    const middle = (key: keyof Round) => Math.round(median(of.map((one) => one[key])) * 100) / 100;
    const hello = Math.round(median(helloUs) * 100) / 100;
    return {
      ...{ server: `${title}, ${way}`, scenario: 'connections', agents, rssMb, helloUs: hello },
      cpuRatio: Math.round((middle('cpuUs') / hello) * 100) / 100,
      ...{ cpuUs: middle('cpuUs'), cpuWithDatabaseUs: middle('cpuWithDatabaseUs') },
      ...{ perSecond: Math.round(middle('perSecond')), p50Ms: middle('p50Ms'), p99Ms: middle('p99Ms') },
    };
  });
}

type Round = Record<'cpuUs' | 'cpuWithDatabaseUs' | 'perSecond' | 'p50Ms' | 'p99Ms', number>;

async function measureRound(
  { cpuUs }: BenchServer,
  { way, seconds }: { way: Way | undefined; seconds: number },
): Promise<Round> {
  const before = cpuUs();
  const startMs = performance.now();
  const latencies = Float64Array.from((await way?.(seconds)) ?? []).sort();
  const tookSeconds = (performance.now() - startMs) / 1_000;
  const after = cpuUs();
  const server = (after.server - before.server) / latencies.length;
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return {
    ...{ cpuUs: server, cpuWithDatabaseUs: server + (after.database - before.database) / latencies.length },
    ...{ perSecond: latencies.length / tookSeconds, p50Ms: at(0.5), p99Ms: at(0.99) },
  };
}

/** A socket for each agent, in as many processes as their limits of open files ask for. */
async function holdSockets({ url, agents }: BenchServer, pair: TestPair | null): Promise<ChildProcess[]> {
  const { hostname: host, port } = new URL(url);
  const holders: ChildProcess[] = [];
  for (let n = 0; n < agents.length; n += SOCKETS_OF_PROCESS) {
    const holder = fork(join(import.meta.dirname, 'held-sockets.ts'));
    holders.push(holder);
    const requests = agents
      .slice(n, n + SOCKETS_OF_PROCESS)
      .map((agent) => checkInRequest(agent).toString('latin1'));
    const firstAddress = 2 + holders.length * 2;
    await tell(holder, {
      kind: 'open',
      host,
      port: Number(port),
      ca: pair?.cert ?? null,
      firstAddress,
      requests,
    });
  }
  return holders;
}

async function tell(holder: ChildProcess, order: HeldOrder): Promise<HeldAnswer> {
  const answer = new Promise<HeldAnswer>((resolve, reject) => {
    const onExit = () => reject(new Error('a process that holds sockets ended'));
    holder.once('exit', onExit);
    holder.once('message', (message: HeldAnswer) => {
      holder.off('exit', onExit);
      resolve(message);
    });
  });
  holder.send(order);
  return answer;
}

async function memoryAtRest(pid: number, file: string): Promise<MemoryAtRest> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await pause(50);
  return JSON.parse(readFileSync(file, 'utf8'));
}
