import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chainEvents } from '../apps/server/src/events/chain-events.ts';
import { createRowSeals } from '../apps/server/src/platform/db/create-row-seals.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { createLog } from '../apps/server/src/platform/log.ts';
import { watchQueries } from '../apps/server/src/platform/slow-log.ts';
import type { BenchOptions } from './run.ts';

/** Statements between two looks at the clock. */
const BATCH = 1_000;

/** Microseconds of a prepared read of SQLite, with and without the log of slow queries. */
export async function benchSlowLog({ rounds, seconds, say }: BenchOptions): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'));
  const log = createLog({ level: 'warn', format: 'text', now: Date.now, write: say });
  const watch = watchQueries({ thresholdMs: 1_000, log, elapsedMs: () => performance.now() });
  const seals = createRowSeals(() => Buffer.alloc(32));
  const candidates = [
    { name: 'without', watch: null, all: [] as number[] },
    { name: 'with', watch, all: [] as number[] },
  ].map((candidate) => {
    const options = { seals, beforeCommit: chainEvents, watch: candidate.watch };
    const database = openSqlite(join(folder, `${candidate.name}.db`), options);
    return {
      ...candidate,
      database,
      read: database.prepareRead({ name: 'x', sqlite: 'SELECT ?', postgres: '' }),
    };
  });
  for (let round = 0; round <= rounds; round++) {
    for (const { name, read, all } of candidates) {
      const untilMs = performance.now() + seconds * 1_000;
      const startedMs = performance.now();
      let count = 0;
      while (performance.now() < untilMs) {
        for (let i = 0; i < BATCH; i++) await read([i]);
        count += BATCH;
      }
      const microseconds = ((performance.now() - startedMs) * 1_000) / count;
      // The first round warms up.
      if (round > 0) all.push(microseconds);
      say(`round ${round}: ${name} ${microseconds.toFixed(3)} µs`);
    }
  }
  for (const { database } of candidates) await database.close();
  rmSync(folder, { recursive: true });
  const median = (all: number[]) =>
    Number((all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0).toFixed(3));
  return Object.fromEntries(candidates.map(({ name, all }) => [`read_us_${name}`, median(all)]));
}
