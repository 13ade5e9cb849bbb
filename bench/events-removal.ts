import { startPostgres } from '@tidegate/testkit/postgres';
import { sql } from 'kysely';
import { appendEvent } from '../apps/server/src/events/append-event.ts';
import { makeCheckpoint } from '../apps/server/src/events/make-checkpoint.ts';
import { finishRemoval, removeEvents } from '../apps/server/src/events/prune-events.ts';
import { newestAnchor, newestCheckpoint } from '../apps/server/src/events/store.ts';
import type { DatabasePlace } from '../apps/server/src/events/verify-worker.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openDatabase } from '../apps/server/src/platform/db/open.ts';
import { createCheckpointSigner } from '../apps/server/src/testing/checkpoint-signer.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { createTestPlatform } from '../apps/server/src/testing/test-platform.ts';
import { walk } from './events.ts';
import { contentOf, EVENT, fillEvents, maintain } from './events-fill.ts';
import { postmasterOf } from './fleet.ts';
import type { FleetSize } from './list-fleet.ts';
import { cpuOf, cpuOfFamily } from './processes.ts';
import type { BenchOptions } from './run.ts';

/** Acts that are written one after the other meanwhile. */
const WRITERS = 4;
/** Events that stay. */
const KEPT = 10_000;
/** How long writers are measured without a removal, in milliseconds. */
const ALONE_MS = 10_000;
const WALK_THREADS = 2;

/**
 * On PostgreSQL, a log of `--updates` events: its verification, the removal of all but a few behind a signed anchor, and DROP of
 * the same files as a native partition. Writers go on in each part, and their waits are told.
 */
export async function benchEventsRemoval({ events, say }: BenchOptions & Pick<FleetSize, 'events'>) {
  const postgres = await startPostgres({ fsync: true, settings: { max_wal_size: '4GB' } });
  if ('missing' in postgres) return postgres;
  const place = { dataDir: '', databaseUrl: await postgres.createDatabase() };
  const database = openDatabase(place, databaseOptions());
  const result: Record<string, unknown> = { events };
  const postmaster = postmasterOf(place.databaseUrl);
  const part = async (name: string, act: (database: Database) => Promise<unknown>) => {
    result[name] = await measure({ database, postmaster }, act);
    say(`${name}: ${JSON.stringify(result[name])}`);
  };
  try {
    await migrate(database, { migrations: MIGRATIONS, now: Date.now });
    await part('fill', () => fillEvents({ database, place, events, isListed: true }));
    await part('vacuumOfFilled', () => maintain({ database, place }, 'VACUUM (ANALYZE) events'));
    await part('walk', () => walk(place, WALK_THREADS));
    await part('writersAlone', () => writing(database, () => new Promise((r) => setTimeout(r, ALONE_MS))));

    const platform = createTestPlatform(database);
    const signer = createCheckpointSigner();
    const file = { path: '', append: () => {}, tail: () => [] };
    await makeCheckpoint({ platform, signer, file }, 'always');
    const checkpoint = await newestCheckpoint(database.read);
    if (checkpoint === null) throw new Error('nothing is signed');
    for (let n = 0; n < KEPT; n += 100) await add(database, 100);
    const how = { signer, trusted: signer.trusted, isStopped: () => false };
    const wanted = { checkpoint, signedBeforeMs: platform.now(), by: 'cli', retentionDays: null };
    // The part is verified before the anchor: a removal is two things with costs of their own.
    await part('verifiedBeforeAnchor', () =>
      removeEvents(platform, { ...how, isStopped: () => true }, wanted),
    );
    if ((await newestAnchor(database.read)) === null) throw new Error('there is no anchor');
    await part('removal', () => writing(database, () => finish(database, checkpoint.position)));
    await part('vacuumOfRemoved', () =>
      writing(database, () => maintain({ database, place }, 'VACUUM events')),
    );
    await part('asPartition', () => asPartition(database, place));
    await part('drop', () => writing(database, () => maintain({ database, place }, 'DROP TABLE events_old')));
  } finally {
    await database.close();
    await postgres.stop();
  }
  return result;
}

/** The chunks of `finishRemoval`, without its end, which removes checkpoints. */
async function finish(database: Database, position: number): Promise<void> {
  await finishRemoval(createTestPlatform(database), { isStopped: () => false });
  const left = await sql<{
    n: number;
  }>`SELECT count(*) AS n FROM events WHERE position <= ${position}`.execute(database.read);
  if (Number(left.rows[0]?.n) !== 0) throw new Error('not all events were removed');
}

/** Clock, CPU, WAL and sizes. */
async function measure(
  { database, postmaster }: { database: Database; postmaster: number },
  act: (database: Database) => Promise<unknown>,
) {
  const before = { ms: performance.now(), cpu: cpuOf(process.pid), db: cpuOfFamily(postmaster) };
  const wal = await walOf(database);
  const told = await act(database);
  const seconds = (performance.now() - before.ms) / 1_000;
  const cpuS = (cpuOf(process.pid) - before.cpu) / 1e6;
  const dbS = (cpuOfFamily(postmaster) - before.db) / 1e6;
  const walMb = Math.round(((await walOf(database)) - wal) / 1e6);
  const [size] = (
    await sql<{ table: string; indexes: string }>`SELECT pg_table_size('events') AS table,
      pg_indexes_size('events') AS indexes`.execute(database.read)
  ).rows;
  return {
    ...{ seconds: round(seconds), cpuS: round(cpuS), postgresCpuS: round(dbS), walMb },
    ...{ tableMb: Math.round(Number(size?.table) / 1e6), indexesMb: Math.round(Number(size?.indexes) / 1e6) },
    ...(told !== undefined && typeof told === 'object' && told !== null && !('rows' in told) && { told }),
  };
}

const round = (n: number) => Math.round(n * 10) / 10;

async function walOf(database: Database): Promise<number> {
  const at = await sql<{ at: string }>`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS at`.execute(
    database.read,
  );
  return Number(at.rows[0]?.at);
}

const platform = createTestClock();
function createTestClock() {
  let n = 0;
  return { now: Date.now, newId: () => `${process.pid}-${process.hrtime.bigint()}-${n++}` };
}
const add = (database: Database, events: number) =>
  database.transact(async (tx) => {
    for (let n = 0; n < events; n++) await appendEvent(tx, platform, { ...EVENT, content: contentOf(n) });
  });

/** What writers wait for while something else happens. */
async function writing(database: Database, act: () => Promise<unknown>) {
  const waits: number[] = [];
  let isOver = false;
  const writers = Array.from({ length: WRITERS }, async () => {
    do {
      const began = performance.now();
      await add(database, 1);
      waits.push(performance.now() - began);
    } while (!isOver);
  });
  const began = performance.now();
  await act();
  const actMs = performance.now() - began;
  isOver = true;
  await Promise.all(writers);
  waits.sort((a, b) => a - b);
  const at = (part: number) => round(waits[Math.min(waits.length - 1, Math.floor(waits.length * part))] ?? 0);
  return {
    ...{ actMs: round(actMs), acts: waits.length, perSecond: Math.round((1_000 * waits.length) / actMs) },
    ...{ p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) },
  };
}

/** The table as it is becomes the first partition of a new one, and the events that are left move to the second. */
async function asPartition(database: Database, place: DatabasePlace): Promise<void> {
  const { rows } = await sql<{ first: number }>`SELECT min(position) AS first FROM events`.execute(
    database.read,
  );
  const first = Number(rows[0]?.first);
  const statements = [
    'ALTER TABLE events RENAME TO events_old',
    'ALTER TABLE events_old DISABLE TRIGGER USER',
    'CREATE TABLE events (LIKE events_old INCLUDING DEFAULTS) PARTITION BY RANGE (position)',
    'ALTER TABLE events ADD PRIMARY KEY (position)',
    `CREATE TABLE events_new PARTITION OF events FOR VALUES FROM (${first}) TO (MAXVALUE)`,
    'INSERT INTO events_new SELECT * FROM events_old',
    'DELETE FROM events_old',
    `ALTER TABLE events ATTACH PARTITION events_old FOR VALUES FROM (MINVALUE) TO (${first})`,
    // The views of the old table would keep it.
    'DROP VIEW security_events, system_events',
  ];
  await maintain({ database, place }, statements.join('; '));
}
