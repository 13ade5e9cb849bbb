import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyOf } from './compare.ts';
import { withTables } from './figure-tables.ts';
import { type RunRecord, readRecord } from './record.ts';

const ROOT = join(import.meta.dirname, '..');
export const BASELINE = join(import.meta.dirname, 'baseline.json');
/** Documents with tables of figures. */
export const DOCUMENTS = ['README.md', 'bench/README.md', 'docs/scale.md'];

export interface KeepOptions {
  /** Files of records whose points replace those of the baseline. */
  records: readonly string[];
}

/** Takes points of records into the baseline, and writes the tables of the documents from it. */
export async function keepRecords({ records }: KeepOptions): Promise<{ written: string[] }> {
  const baseline = records.map(readRecord).reduce(merged, readRecord(BASELINE));
  const texts = new Map<string, string>([
    [BASELINE, `${JSON.stringify(baseline, null, 2)}\n`],
    ...DOCUMENTS.map((name): [string, string] => {
      const file = join(ROOT, name);
      return [file, withTables(readFileSync(file, 'utf8'), baseline.points)];
    }),
  ]);
  const written = [...texts].filter(([file, text]) => readFileSync(file, 'utf8') !== text);
  for (const [file, text] of written) writeFileSync(file, text);
  return { written: written.map(([file]) => file) };
}

function merged(baseline: RunRecord, { points, ...record }: RunRecord): RunRecord {
  const all = new Map([...baseline.points, ...points].map((point) => [keyOf(point), point]));
  const { at, machine, load } = record;
  return { at, machine, load, points: [...all.values()] };
}
