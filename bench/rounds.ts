import { join } from 'node:path';
import { type BenchServer, startFleet } from './fleet.ts';
import { CONNECTIONS, type Floor, withFloor } from './floor.ts';
import { type LoadResult, runLoad, type Turn } from './load.ts';
import { median, memoryOf } from './processes.ts';
import type { BenchOptions } from './run.ts';
import type { RoundOptions } from './scenario.ts';

/** Rounds before the first: five seconds are enough for V8 to compile the hot path. */
const WARM_UP_ROUNDS = 2.5;
/** For the first request of each agent, at most. */
const FIRST_SECONDS = 300;

export interface Figures {
  /** CPU of the server process per request, as a multiple of the bare server's. */
  cpuRatio: number;
  cpuUs: number;
  /** With the CPU of the database's own processes. */
  cpuWithDatabaseUs: number;
  /** CPU of the bare server per request, in the same rounds. */
  helloUs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Resident memory of the server after the rounds. */
  rssMb: number;
}

/** A server that answers these requests. */
export interface Candidate {
  /** What is measured of which server, for people. */
  title: string;
  url: string;
  pid: number;
  /** CPU time so far, in microseconds; `database` is that of a database's own processes. */
  cpuUs(): { server: number; database: number };
  requests: Requests;
  /** Sends this many of the requests before anything is measured. */
  firstRequests: number;
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
  const { agents } = options;
  return withFloor(options, async (floor) => {
    const result: Record<string, Figures | { missing: string }> = {};
    for (const engine of options.engines) {
      const fleet = await startFleet(engine, { agents, nodeFlags: flagsOf(engine) });
      if ('missing' in fleet) {
        result[engine] = fleet;
        continue;
      }
      try {
        result[engine] = await measureBeside(floor, options, {
          ...{ url: fleet.url, pid: fleet.pid, cpuUs: fleet.cpuUs, requests: contest.requestsOf(fleet) },
          title: `${engine} ${contest.what}`,
          firstRequests: contest.firstOnce ? agents : 0,
        });
      } finally {
        await fleet.stop();
      }
    }
    return result;
  });
}

/** Rounds of one candidate that alternate with the bare server. */
export async function measureBeside(
  floor: Floor,
  options: RoundOptions,
  candidate: Candidate,
): Promise<Figures> {
  const requests = inTurn(candidate.requests);
  const load = { url: candidate.url, connections: CONNECTIONS, requests };
  const { firstRequests: maxRequests } = candidate;
  if (maxRequests > 0) await runLoad({ ...load, seconds: FIRST_SECONDS, maxRequests });
  await runLoad({ ...load, seconds: options.seconds * WARM_UP_ROUNDS });
  return measure(options, { candidate: { ...candidate, requests }, floor });
}

/** Goes on where the round before ended: a round is shorter than one turn of a large fleet. */
function inTurn(requests: Requests): () => Turn | null {
  if (typeof requests === 'function') return requests;
  let next = 0;
  return () => {
    const request = requests[next++ % requests.length];
    return request === undefined ? null : { request };
  };
}

export function flagsOf(engine: string): string[] {
  const folder = process.env.TIDEGATE_BENCH_PROFILE;
  return folder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', join(folder, engine)];
}

interface Round extends LoadResult {
  cpuUs: number;
  cpuWithDatabaseUs: number;
}

async function measure(
  { rounds, seconds, say }: RoundOptions,
  { candidate, floor }: { candidate: Candidate; floor: Floor },
): Promise<Figures> {
  const floors: number[] = [];
  const measuredRounds: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const floorUs = await floor.costUs(seconds);
    const one = await measured(candidate.cpuUs, {
      url: candidate.url,
      seconds,
      requests: candidate.requests,
    });
    floors.push(floorUs);
    measuredRounds.push(one);
    say(
      `${candidate.title} ${round}/${rounds}: hello ${floorUs.toFixed(1)} µs, ${one.cpuUs.toFixed(1)} µs ` +
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
    helloUs: rounded(median(floors)),
    perSecond: Math.round(of('perSecond')),
    p50Ms: rounded(of('p50Ms')),
    p99Ms: rounded(of('p99Ms')),
    rssMb: Math.round(memoryOf(candidate.pid).rssKb / 1_024),
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
