import { availableParallelism } from 'node:os';
import { checkInRequest } from './check-in.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import { runLoad } from './load.ts';
import { childrenOf, cpuOfThreads, median } from './processes.ts';
import type { BenchOptions } from './run.ts';

const COUNTS = [1, 2] as const;
/** The kernel gives each connection to one of the processes: with many of them, each gets about as many. */
const CONNECTIONS = 128;
const WARM_UP_SECONDS = 5;
const FIRST_SECONDS = 300;

interface Figures {
  /** CPU of all processes of the server per check-in. */
  cpuUs: number;
  /** Of it, the part of the process with the most. */
  busiestUs: number;
  /** Check-ins a second at which that process has filled a core. */
  boundPerSecond: number;
  /** Reached beside the load, which takes its part of the cores. */
  perSecond: number;
  p99Ms: number;
}

/** Idle check-ins with one process and with two, in rounds that alternate. All processes and the load share all cores. */
export async function benchWorkers(options: BenchOptions): Promise<Record<string, unknown>> {
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) result[engine] = await benchEngine(engine, options);
  return result;
}

async function benchEngine(
  engine: 'sqlite' | 'postgres',
  { agents, rounds, seconds, say }: BenchOptions,
): Promise<Record<string, unknown>> {
  const servers: { count: number; fleet: BenchServer; rounds: Figures[] }[] = [];
  try {
    for (const count of COUNTS) {
      const serverCores = `0-${availableParallelism() - 1}`;
      const env = { SERVICE_WORKERS: String(count) };
      const fleet = await startFleet(engine, { agents, serverCores, env });
      if ('missing' in fleet) return fleet;
      servers.push({ count, fleet, rounds: [] });
      const load = { url: fleet.url, connections: CONNECTIONS, requests: fleet.agents.map(checkInRequest) };
      await runLoad({ ...load, seconds: FIRST_SECONDS, maxRequests: 2 * agents });
      await runLoad({ ...load, seconds: WARM_UP_SECONDS });
    }
    for (let round = 1; round <= rounds; round++) {
      for (const one of servers) {
        const figures = await measure(one.fleet, seconds);
        one.rounds.push(figures);
        say(
          `${engine}, ${one.count} ${round}/${rounds}: ${figures.cpuUs.toFixed(1)} µs, busiest process ` +
            `${figures.busiestUs.toFixed(1)} µs, ${figures.perSecond}/s, p99 ${figures.p99Ms.toFixed(1)} ms`,
        );
      }
    }
  } finally {
    for (const { fleet } of servers) await fleet.stop();
  }
  const [one, two] = servers.map((server) => medians(server.rounds));
  return { one, two, boundRatio: (two?.boundPerSecond ?? 0) / (one?.boundPerSecond ?? 1) };
}

async function measure({ url, pid, agents }: BenchServer, seconds: number): Promise<Figures> {
  const pids = [pid, ...childrenOf(pid)];
  const before = pids.map(cpuOfThreads);
  const requests = agents.map(checkInRequest);
  const result = await runLoad({ url, connections: CONNECTIONS, seconds, requests });
  const after = pids.map(cpuOfThreads);
  if (Object.keys(result.refused).length > 0) {
    throw new Error(`not every answer was 200: ${JSON.stringify(result.refused)}`);
  }
  const each = after.map((us, index) => (us - (before[index] ?? 0)) / result.requests);
  const busiestUs = Math.max(...each);
  return {
    ...{ cpuUs: each.reduce((sum, us) => sum + us, 0), busiestUs, boundPerSecond: 1e6 / busiestUs },
    ...{ perSecond: Math.round(result.perSecond), p99Ms: result.p99Ms },
  };
}

function medians(rounds: readonly Figures[]): Figures {
  const of = (key: keyof Figures) => Math.round(10 * median(rounds.map((round) => round[key]))) / 10;
  return {
    ...{ cpuUs: of('cpuUs'), busiestUs: of('busiestUs'), boundPerSecond: of('boundPerSecond') },
    ...{ perSecond: of('perSecond'), p99Ms: of('p99Ms') },
  };
}
