import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { appendEvent } from '../apps/server/src/events/append-event.ts';
import type { DatabasePlace } from '../apps/server/src/events/verify-worker.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openDatabase } from '../apps/server/src/platform/db/open.ts';
import { createIdMaker, systemRandom } from '../apps/server/src/platform/ids.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { contentOf, EVENT, fillEvents } from './events-fill.ts';
import { postmasterOf } from './fleet.ts';
import type { FleetSize } from './list-fleet.ts';
import { cpuOf, cpuOfFamily, median } from './processes.ts';
import type { BenchOptions } from './run.ts';

/** Acts at the same moment, each in a transaction of its own. */
const WRITERS = 256;
const EVENTS_OF_AN_ACT = [1, 10];
const THREADS = [1, 2];
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
  try {
    return await measure({ dataDir: folder.path, databaseUrl: null }, options);
  } finally {
    folder.remove();
  }
}

async function onPostgres(options: Options, settings: Readonly<Record<string, string>>) {
  const postgres = await startPostgres({ fsync: true, settings });
  if ('missing' in postgres) return postgres;
  try {
    return await measure({ dataDir: '', databaseUrl: await postgres.createDatabase() }, options);
  } finally {
    await postgres.stop();
  }
}

async function measure(place: DatabasePlace, { rounds, seconds, events, say }: Options) {
  const database = openDatabase(place, databaseOptions());
  try {
    await migrate(database, { migrations: MIGRATIONS, now: Date.now });
    const postmaster = place.databaseUrl === null ? null : postmasterOf(place.databaseUrl);
    const rates: Record<string, unknown> = {};
    for (const each of EVENTS_OF_AN_ACT) {
      const written: Written[] = [];
      for (let round = 0; round < rounds; round++)
        written.push(await writeFor(database, { seconds, each, postmaster }));
      const of = (key: keyof Written) => Math.round(median(written.map((one) => one[key])));
      rates[`actsWith${each}`] = {
        ...{ eventsPerSecond: of('perSecond'), cpuUsOfEvent: of('cpuUs') },
        ...(postmaster !== null && { postgresCpuUsOfEvent: of('databaseCpuUs') }),
        load: loadavg()[0],
      };
      say(`${database.engine}, acts with ${each}: ${JSON.stringify(rates[`actsWith${each}`])}`);
    }
    if (events === 0) return rates;
    await fillEvents({ database, place, events, isListed: false });
    say(`${database.engine}: the log has ${events} events`);
    const walks: unknown[] = [];
    for (const threads of THREADS) {
      walks.push(await walk(place, threads));
      say(`${database.engine}: ${JSON.stringify(walks.at(-1))}`);
    }
    return { ...rates, walks };
  } finally {
    await database.close();
  }
}

const platform = { now: Date.now, newId: createIdMaker(Date.now, systemRandom) };
const add = (database: Database, n: number) =>
  database.transact(async (tx) => {
    for (let i = 0; i < n; i++) await appendEvent(tx, platform, { ...EVENT, content: contentOf(i) });
  });

interface Written {
  /** Events. */
  perSecond: number;
  /** Of the process that writes and chains, for an event. */
  cpuUs: number;
  /** Of PostgreSQL's processes. */
  databaseCpuUs: number;
}

async function writeFor(
  database: Database,
  { seconds, each, postmaster }: { seconds: number; each: number; postmaster: number | null },
): Promise<Written> {
  const cpu = () => [cpuOf(process.pid), postmaster === null ? 0 : cpuOfFamily(postmaster)] as const;
  const [own, others] = cpu();
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
  const perSecond = done / ((performance.now() - began) / 1_000);
  const [ownAfter, othersAfter] = cpu();
  return { perSecond, cpuUs: (ownAfter - own) / done, databaseCpuUs: (othersAfter - others) / done };
}

/** In a process of its own, so that its memory is that of the walk alone. */
export async function walk(place: DatabasePlace, threads: number) {
  const program = join(import.meta.dirname, 'events-walk.ts');
  const words = [program, JSON.stringify(place), String(threads)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  const walked: unknown = JSON.parse(stdout);
  return walked;
}
