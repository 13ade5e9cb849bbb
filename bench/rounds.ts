import { join } from 'node:path';
import { type BenchServer, startFleet } from './fleet.ts';
import { type LoadResult, runLoad, type Turn } from './load.ts';
import { cpuOf, median, memoryOf, pinLoad, startServerProcess } from './processes.ts';
import type { BenchOptions } from './run.ts';

const CONNECTIONS = 64;
/** Long enough for V8 to compile the hot path. */
const WARM_UP_SECONDS = 5;
/** For the first request of each agent, at most. */
const FIRST_SECONDS = 300;
const HELLO = Buffer.from('GET / HTTP/1.1\r\nhost: bench\r\n\r\n');

export interface Figures {
  /** CPU of the server process per request, as a multiple of the bare server's. */
  cpuRatio: number;
  cpuUs: number;
  /** With the CPU of the database's own processes. */
  cpuWithDatabaseUs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Resident memory of the server after the rounds. */
  rssMb: number;
}

export type Requests = readonly Buffer[] | (() => Turn | null);

export interface Contest {
  /** The name of the request in the report. */
  what: string;
  requestsOf(fleet: BenchServer): Requests;
  /** Sends each of the requests once before anything is measured. */
  firstOnce: boolean;
}

/**
 * Requests of all agents over 64 connections, in rounds that alternate with a bare node:http server, each server on
 * the same core and the load on another. Medians of the rounds; CPU per request varies least.
 */
export async function compareWithHello(
  options: BenchOptions,
  contest: Contest,
): Promise<Record<string, Figures | { missing: string }>> {
  const { say, agents } = options;
  if (!pinLoad())
    say('one core, or no taskset: server and load share the core, so the figures are not reliable');
  const hello = await startServerProcess(join(import.meta.dirname, 'hello.ts'));
  const result: Record<string, Figures | { missing: string }> = {};
  try {
    for (const engine of options.engines) {
      const fleet = await startFleet(engine, { agents, nodeFlags: flagsOf(engine) });
      if ('missing' in fleet) {
        result[engine] = fleet;
        continue;
      }
      try {
        const requests = contest.requestsOf(fleet);
        const load = { url: fleet.url, connections: CONNECTIONS, requests };
        if (contest.firstOnce) await runLoad({ ...load, seconds: FIRST_SECONDS, maxRequests: agents });
        await runLoad({ url: hello.url, connections: CONNECTIONS, seconds: 1, requests: [HELLO] });
        await runLoad({ ...load, seconds: WARM_UP_SECONDS });
        const title = `${engine} ${contest.what}`;
        result[engine] = await measure(options, { title, fleet, requests, hello });
      } finally {
        await fleet.stop();
      }
    }
  } finally {
    await hello.stop();
  }
  return result;
}

function flagsOf(engine: string): string[] {
  const folder = process.env.TIDEGATE_BENCH_PROFILE;
  return folder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', join(folder, engine)];
}

interface Round extends LoadResult {
  cpuUs: number;
  cpuWithDatabaseUs: number;
}

interface Candidates {
  title: string;
  fleet: BenchServer;
  requests: Requests;
  hello: { pid: number; url: string };
}

async function measure(
  { rounds, seconds, say }: BenchOptions,
  { title, fleet, requests, hello }: Candidates,
): Promise<Figures> {
  const floors: number[] = [];
  const measuredRounds: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const helloCpu = () => ({ server: cpuOf(hello.pid), database: 0 });
    const floor = await measured(helloCpu, { url: hello.url, seconds, requests: [HELLO] });
    const one = await measured(fleet.cpuUs, { url: fleet.url, seconds, requests });
    floors.push(floor.cpuUs);
    measuredRounds.push(one);
    say(
      `${title} ${round}/${rounds}: hello ${floor.cpuUs.toFixed(1)} µs, ${one.cpuUs.toFixed(1)} µs ` +
        `(${one.cpuWithDatabaseUs.toFixed(1)} with the database), ${one.perSecond.toFixed(0)}/s, ` +
        `p99 ${one.p99Ms.toFixed(1)} ms`,
    );
  }
  const of = (key: 'cpuUs' | 'cpuWithDatabaseUs' | 'perSecond' | 'p50Ms' | 'p99Ms') =>
    median(measuredRounds.map((round) => round[key]));
  return {
    cpuRatio: rounded(of('cpuUs') / median(floors)),
    cpuUs: rounded(of('cpuUs')),
    cpuWithDatabaseUs: rounded(of('cpuWithDatabaseUs')),
    perSecond: Math.round(of('perSecond')),
    p50Ms: rounded(of('p50Ms')),
    p99Ms: rounded(of('p99Ms')),
    rssMb: Math.round(memoryOf(fleet.pid).rssKb / 1_024),
  };
}

async function measured(
  cpu: () => { server: number; database: number },
  load: { url: string; seconds: number; requests: Requests },
): Promise<Round> {
  const before = cpu();
  const result = await runLoad({ ...load, connections: CONNECTIONS });
  const after = cpu();
  if (Object.keys(result.refused).length > 0) {
    throw new Error(`not every answer was 200: ${JSON.stringify(result.refused)}`);
  }
  const server = (after.server - before.server) / result.requests;
  const database = (after.database - before.database) / result.requests;
  return { ...result, cpuUs: server, cpuWithDatabaseUs: server + database };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
