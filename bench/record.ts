import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

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
  rssMb: Type.Number(),
});

export type Point = Type.Static<typeof Point>;

const RunRecord = Type.Object({
  at: Type.String(),
  machine: Type.Object({ cpu: Type.String(), cores: Type.Integer(), node: Type.String() }),
  /** The load average of one minute before and after: a run beside other work says so. */
  load: Type.Object({ before: Type.Number(), after: Type.Number() }),
  points: Type.Array(Point),
});

export type RunRecord = Type.Static<typeof RunRecord>;
type Started = Pick<RunRecord, 'at' | 'machine'> & { loadBefore: number };

export function startRecord(): Started {
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
  };
  return { at: new Date().toISOString(), machine, loadBefore: oneMinuteLoad() };
}

export function finishRecord({ loadBefore, ...started }: Started, points: readonly Point[]): RunRecord {
  return { ...started, load: { before: loadBefore, after: oneMinuteLoad() }, points: [...points] };
}

/** Returns the path of the file. */
export function writeRecord(record: RunRecord, name = 'curve'): string {
  mkdirSync(OUT, { recursive: true });
  const file = join(OUT, `${name}-${record.at.replaceAll(/[:.]/g, '-')}.json`);
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  return file;
}

/** Throws with the first fault if the file is no record. */
export function readRecord(file: string): RunRecord {
  return Value.Parse(RunRecord, JSON.parse(readFileSync(file, 'utf8')));
}

function oneMinuteLoad(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}
