import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { makeYear } from './evidence-year.ts';
import type { BenchOptions } from './run.ts';

/** Updates of a host in the year. */
const UPDATES = 2_000;
/** Events of other hosts for each host of the bundle. */
const OTHERS = 2_000;
const WORKS = ['bundle', 'verify', 'sbom', 'vex'] as const;
const GOAL_MS = 50;

/**
 * What auditors and scanners ask for, of a group of hosts and a year: each in a process of its own, with its memory and the
 * longest times for which it held the event loop. Fails where that is longer than the goal.
 */
export async function benchEvidence({
  engines,
  evidenceHosts: hosts,
  say,
}: BenchOptions): Promise<Record<string, unknown>> {
  const result: Record<string, unknown> = {};
  for (const engine of engines) {
    const folder = tmpDir('tidegate-bench-');
    const postgres = engine === 'postgres' ? await startPostgres() : null;
    if (postgres && 'missing' in postgres) {
      result[engine] = postgres;
      continue;
    }
    try {
      const place = postgres ? await postgres.createDatabase() : join(folder.path, 'tidegate.db');
      const database = postgres
        ? openPostgres(place, databaseOptions())
        : openSqlite(place, databaseOptions());
      const began = performance.now();
      await makeYear(database, { hosts, updates: UPDATES, others: hosts * OTHERS });
      await database.close();
      say(`${engine}: ${hosts} hosts written in ${Math.round((performance.now() - began) / 1_000)} s`);
      const figures: Record<string, unknown> = {};
      for (const work of WORKS) {
        const path = join(folder.path, work === 'verify' ? 'bundle' : work);
        const program = join(import.meta.dirname, 'evidence-work.ts');
        const { stdout } = await promisify(execFile)(process.execPath, [program, work, place, path]);
        const figure = { mb: Math.round(statSync(path).size / 1e5) / 10, ...JSON.parse(stdout) };
        figures[work] = figure;
        say(`${engine}, ${work}: ${JSON.stringify(figure)}`);
        // The verifier is a command: nothing else runs in its process.
        if (work !== 'verify' && figure.blockedMs[0] > GOAL_MS) process.exitCode = 1;
      }
      result[engine] = { hosts, updates: hosts * UPDATES, ...figures };
    } finally {
      await postgres?.stop();
      folder.remove();
    }
  }
  return result;
}
