import { join } from 'node:path';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { appendEvent } from '../apps/server/src/events/append-event.ts';
import { CHAINING } from '../apps/server/src/events/chain-events.ts';
import { readHead } from '../apps/server/src/events/store.ts';
import { verifyDatabase } from '../apps/server/src/events/verify-database.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { createIdMaker, systemRandom } from '../apps/server/src/platform/ids.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import type { FleetSize } from './list-fleet.ts';
import { median } from './processes.ts';
import type { BenchOptions } from './run.ts';

/** Acts at the same moment, each in a transaction of its own. */
const WRITERS = 256;
const EVENTS_OF_AN_ACT = [1, 10];
/** Events of a transaction that fills the log. */
const FILLED_AT_ONCE = 500;
/** Of PostgreSQL on a disk that takes so long for a commit: the disks of machines that measure are often too fast. */
const SLOW_DISK = { commit_delay: '3000', commit_siblings: '0' };

/** Events a second of acts at the same moment, and the walk over a chain of `--updates` events. */
export async function benchEvents(options: BenchOptions & Pick<FleetSize, 'events'>) {
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    result[engine] = engine === 'sqlite' ? await onSqlite(options) : await onPostgres(options, {});
    if (engine === 'postgres') {
      const slow = await onPostgres({ ...options, events: 0 }, SLOW_DISK);
      result['postgres, commits of 3 ms'] = slow;
    }
  }
  return result;
}

type Options = Parameters<typeof benchEvents>[0];

async function onSqlite(options: Options) {
  const folder = tmpDir('tidegate-bench-');
  const database = openSqlite(join(folder.path, 'tidegate.db'), databaseOptions());
  try {
    return await measure(database, options);
  } finally {
    await database.close();
    folder.remove();
  }
}

async function onPostgres(options: Options, settings: Readonly<Record<string, string>>) {
  const postgres = await startPostgres({ fsync: true, settings });
  if ('missing' in postgres) return postgres;
  const url = await postgres.createDatabase();
  const database = openPostgres(url, { ...databaseOptions(), ...CHAINING.postgres });
  try {
    return await measure(database, options);
  } finally {
    await database.close();
    await postgres.stop();
  }
}

async function measure(database: Database, { rounds, seconds, events, say }: Options) {
  await migrate(database, { migrations: MIGRATIONS, now: Date.now });
  const rates: Record<string, number> = {};
  for (const each of EVENTS_OF_AN_ACT) {
    const perSecond: number[] = [];
    for (let round = 0; round < rounds; round++) perSecond.push(await writeFor(database, { seconds, each }));
    rates[`eventsPerSecondOfActsWith${each}`] = Math.round(median(perSecond));
    say(`${database.engine}: ${perSecond.map(Math.round).join(', ')} events a second of acts with ${each}`);
  }
  if (events === 0) return rates;
  await fill(database, events);
  const walked = await walk(database);
  say(`${database.engine}: ${JSON.stringify(walked)}`);
  return { ...rates, ...walked };
}

const platform = { now: Date.now, newId: createIdMaker(Date.now, systemRandom) };
const add = (database: Database, n: number) =>
  database.transact(async (tx) => {
    for (let i = 0; i < n; i++)
      await appendEvent(tx, platform, {
        kind: 'security',
        type: 'SIGNING_KEY_ADDED',
        severity: 'info',
        component: 'approvals',
        content: { n: i, package: 'openssl', to: '3.0.17-1~deb12u3', artifacts: ['a'.repeat(64)] },
      });
  });

async function writeFor(
  database: Database,
  { seconds, each }: { seconds: number; each: number },
): Promise<number> {
  const began = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (performance.now() - began < seconds * 1_000) {
        await add(database, each);
        done += each;
      }
    }),
  );
  return done / ((performance.now() - began) / 1_000);
}

async function fill(database: Database, events: number): Promise<void> {
  const head = await readHead(database.read);
  for (let n = head?.position ?? 0; n < events; n += FILLED_AT_ONCE) await add(database, FILLED_AT_ONCE);
}

async function walk(database: Database) {
  const began = performance.now();
  const cpu = process.cpuUsage();
  const walked = await verifyDatabase(database.read, {
    trusted: { keys: [], revokedAtMs: new Map() },
    lines: [],
    heads: [],
  });
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    verified: walked.rows,
    fault: walked.fault,
    verifiedPerSecond: Math.round(walked.rows / seconds),
    cpuSeconds: Math.round((user + system) / 1e5) / 10,
    rssMb: Math.round(process.memoryUsage.rss() / 1e6),
  };
}
