import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { createSelfSigned, type TestPair } from '@tidegate/testkit/certificates';
import { tmpDir } from '@tidegate/testkit/tmp';
import { keptConnections, openFilesMax } from '../apps/server/src/platform/http/open-connections.ts';
import { checkInRequest, closingCheckInRequest } from './check-in.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import type { Floor } from './floor.ts';
import type { HeldAnswer, HeldOrder } from './held-sockets.ts';
import { tellsMemory } from './memory-at-rest.ts';
import type { MemoryAtRest } from './memory-on-signal.ts';
import { type Handshake, runNewConnections } from './new-connections.ts';
import { median, memoryOf } from './processes.ts';
import type { Figure } from './record.ts';
import type { FleetOf, RoundOptions, Scenario } from './scenario.ts';

/** Sockets of one process of the load, below its own limit of open files. */
const SOCKETS_OF_PROCESS = 15_000;
const WARM_UP_SECONDS = 3;
/**
 * Check-ins a second of the ways that are not saturated. Connections of one core at saturation are a row without a gap, which
 * the server takes for a herd and refuses.
 */
const PACE = 500;

type OfSocket = {
  /** Open ones: a slow run leaves some idle for longer than the server keeps them. */
  sockets: number;
  /** Bytes for each, after a full collection. */
  residentBytes: number;
  heapBytes: number;
  externalBytes: number;
};

/** A way to bring a check-in: runs for so many seconds, and tells how long each took. */
type Way = (seconds: number, perSecond?: number) => Promise<number[]>;

/**
 * What the open sockets of all hosts cost while they wait, and what a check-in costs on one of them and on a connection of
 * its own, with and without TLS of the server.
 */
export const measureConnections: Scenario = async ({ engine, agents }, { floor, options }) => {
  const filesMax = openFilesMax() ?? Number.POSITIVE_INFINITY;
  if (agents > keptConnections(filesMax))
    throw new Error(
      `a limit of ${filesMax} open files keeps ${keptConnections(filesMax)} connections; raise ulimit -n`,
    );
  const figures: Figure[] = [];
  for (const pair of [null, await createSelfSigned(['localhost'])]) {
    const title = `${engine}, ${pair === null ? 'http' : 'https'}`;
    const found = await measureServer(options, { engine, agents, pair, floor, title });
    if ('missing' in found) return found;
    figures.push(...found);
  }
  return figures;
};

interface Measured extends FleetOf {
  /** Null: over plain HTTP. */
  pair: TestPair | null;
  floor: Floor;
  title: string;
}

async function measureServer(options: RoundOptions, of: Measured) {
  const { say } = options;
  const { agents, engine, pair, title } = of;
  using folder = tmpDir('tidegate-bench-memory-');
  const { nodeFlags, env, atRest } = tellsMemory(folder.path);
  const fleet = await startFleet(engine, {
    agents,
    nodeFlags,
    env: { ...env, ...(pair && { SERVICE_TLS_CERT: pair.cert, SERVICE_TLS_KEY: pair.key }) },
  });
  if ('missing' in fleet) return fleet;
  const holders: ChildProcess[] = [];
  try {
    const ways = waysOf(fleet, { pair, holders });
    for (const [name, way] of Object.entries(ways))
      if (!HELD.includes(name)) await way(WARM_UP_SECONDS, PACE / 5);
    const before = await atRest(fleet.pid);
    holders.push(...(await holdSockets(fleet, pair)));
    const after = await atRest(fleet.pid);
    const answers = await Promise.all(
      holders.map((holder) => tell(holder, { kind: 'poll', seconds: 0, perSecond: null })),
    );
    const sockets = agents - answers.reduce((sum, { ended }) => sum + ended, 0);
    const each = (key: keyof MemoryAtRest) => Math.round((after[key] - before[key]) / sockets);
    const more: OfSocket = {
      sockets,
      ...{ residentBytes: each('rss'), heapBytes: each('heapUsed'), externalBytes: each('external') },
    };
    say(`${title}: ${JSON.stringify(more)}`);
    const figures = await measureWays(options, { ...of, fleet, ways });
    return figures.map((figure) => ({ ...figure, more }));
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
  const requests = agents.map(closingCheckInRequest);
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

async function measureWays(
  { rounds, seconds, say }: RoundOptions,
  { agents, floor, fleet, ways, title }: Measured & { fleet: BenchServer; ways: Record<string, Way> },
): Promise<Figure[]> {
  const helloUs: number[] = [];
  const figures = Object.keys(ways).map((way): { way: string; rounds: Round[] } => ({ way, rounds: [] }));
  for (let round = 1; round <= rounds; round++) {
    helloUs.push(await floor.costUs(seconds));
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
      ...{ server: `tidegate on ${title}`, scenario: `connections, ${way}`, agents, rssMb, helloUs: hello },
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
