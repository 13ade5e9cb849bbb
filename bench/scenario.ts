import type { Floor } from './floor.ts';
import { median } from './processes.ts';
import type { Figure } from './record.ts';
import type { BenchOptions } from './run.ts';

/** A fleet of one size on one engine. */
export interface FleetOf {
  engine: 'sqlite' | 'postgres';
  agents: number;
}

/** How long each candidate is measured, and who is told of it. */
export type RoundOptions = Pick<BenchOptions, 'rounds' | 'seconds' | 'say'>;

/** What a curve measures at each size of the fleet; `missing` where PostgreSQL is not installed. */
export type Scenario = (
  of: FleetOf,
  beside: { floor: Floor; options: RoundOptions },
) => Promise<readonly Figure[] | { missing: string }>;

/** CPU in microseconds that some work took: of the server, and of the database's own processes. */
export interface Cpu {
  server: number;
  database: number;
}

export function cpuBetween(before: Cpu, after: Cpu): Cpu {
  return { server: after.server - before.server, database: after.database - before.database };
}

/** The point of some operations, each of which took so many milliseconds. */
export function pointOf(measured: {
  of: FleetOf;
  scenario: string;
  tookMs: readonly number[];
  seconds: number;
  cpu: Cpu;
  /** Of rounds before and after. */
  helloUs: readonly number[];
  rssMb: number;
  more?: Record<string, number>;
}): Figure {
  const { of, scenario, cpu, seconds, rssMb } = measured;
  const { length: count } = measured.tookMs;
  const at = quantilesOf(measured.tookMs);
  const cpuUs = cpu.server / count;
  const helloUs = median(measured.helloUs);
  return {
    ...{ server: `tidegate on ${of.engine}`, scenario, agents: of.agents },
    ...{ cpuRatio: rounded(cpuUs / helloUs), cpuUs: rounded(cpuUs), helloUs: rounded(helloUs) },
    cpuWithDatabaseUs: rounded(cpuUs + cpu.database / count),
    perSecond: Math.round(count / seconds),
    ...{ p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1), rssMb },
    ...(measured.more && { more: measured.more }),
  };
}

/** The value that a share of them does not exceed; NaN where there are none. */
export function quantilesOf(values: readonly number[]): (share: number) => number {
  const sorted = Float64Array.from(values).sort();
  return (share) => rounded(sorted[Math.ceil((sorted.length - 1) * share)] ?? Number.NaN);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
