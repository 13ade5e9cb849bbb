import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

/** The load average of one minute before and after: a run beside other work says so. */
const Load = Type.Object({ before: Type.Number(), after: Type.Number() });

/** Where records and pages are written. */
export const OUT = join(import.meta.dirname, 'out');

const Point = Type.Object({
  server: Type.String(),
  scenario: Type.String(),
  agents: Type.Integer({ minimum: 1 }),
  /** CPU as a multiple of the bare server's in the same rounds: what is compared between runs and machines. */
  cpuRatio: Type.Number(),
  cpuUs: Type.Number(),
  cpuWithDatabaseUs: Type.Number(),
  helloUs: Type.Number(),
  perSecond: Type.Number(),
  p50Ms: Type.Number(),
  p99Ms: Type.Number(),
  longestMs: Type.Optional(Type.Number()),
  rssMb: Type.Number(),
  /** What this scenario alone has, such as refused requests by their status. */
  more: Type.Optional(Type.Record(Type.String(), Type.Number())),
  /** When it was measured, in how many seconds with the filling of its database, and the load average before and after. */
  at: Type.String(),
  tookSeconds: Type.Optional(Type.Number()),
  load: Load,
});

/** What was measured; where it stands in `Point`, the run adds when and at which load. */
export type Point = Type.Static<typeof Point>;
export type Figure = Omit<Point, 'at' | 'tookSeconds' | 'load'>;

/** A size of a scenario that has no figures, and why. */
const Failure = Type.Object({
  scenario: Type.String(),
  engine: Type.String(),
  agents: Type.Integer({ minimum: 1 }),
  why: Type.String(),
});
export type Failure = Type.Static<typeof Failure>;

const RunRecord = Type.Object({
  at: Type.String(),
  machine: Type.Object({ cpu: Type.String(), cores: Type.Integer(), node: Type.String() }),
  load: Load,
  points: Type.Array(Point),
  failures: Type.Optional(Type.Array(Failure)),
});

export type RunRecord = Type.Static<typeof RunRecord>;
export type Started = Pick<RunRecord, 'at' | 'machine'> & { loadBefore: number };

export function startRecord(): Started {
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
  };
  return { at: new Date().toISOString(), machine, loadBefore: oneMinuteLoad() };
}

export function finishRecord(
  { loadBefore, ...started }: Started,
  points: readonly Point[],
  failures: readonly Failure[] = [],
): RunRecord {
  const load = { before: loadBefore, after: oneMinuteLoad() };
  return { ...started, load, points: [...points], failures: [...failures] };
}

/** Returns the path of the file. */
export function writeRecord(record: RunRecord, name = 'curve'): string {
  return writeJson(name, record);
}

/** Writes to a file of `bench/out` that is named for the time of the run; returns its path. */
export function writeJson(name: string, record: { at: string }): string {
  mkdirSync(OUT, { recursive: true });
  const file = join(OUT, `${name}-${record.at.replaceAll(/[:.]/g, '-')}.json`);
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  return file;
}

/** Throws with the first fault if the file is no record. */
export function readRecord(file: string): RunRecord {
  return Value.Parse(RunRecord, JSON.parse(readFileSync(file, 'utf8')));
}

export function oneMinuteLoad(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}
