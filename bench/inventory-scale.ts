import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { BENCH_PASSWORD, BENCH_USER, postmasterOf } from './fleet.ts';
import { fillInventory } from './inventory-fill.ts';
import { fillVulnerabilities, KERNEL, RARE, WIDE, WIDE_NAME } from './inventory-vulnerabilities.ts';
import { vacuum } from './list-fleet.ts';
import { logIn } from './operator-client.ts';
import { cpuClock, median, pinLoad, startServerProcess } from './processes.ts';
import { serverProgram } from './program.ts';
import type { BenchOptions } from './run.ts';

/** Each page is the first one. The last version of a package is `1.<highest>-2`: everything before it is below `2`. */
const QUESTIONS: Readonly<Record<string, string>> = {
  'a package of every host, below its newest version': `agents?package=package-${WIDE_NAME}&below=1.4-2`,
  'the same, its first version alone': `agents?package=package-${WIDE_NAME}&below=1.1-2`,
  'the same, in any version': `agents?package=package-${WIDE_NAME}`,
  'the same, of one group': `agents?package=package-${WIDE_NAME}&below=1.4-2&group=group-7`,
  'a package of few images, below 2': `agents?package=package-7000&below=2`,
  'a package of three hosts': 'agents?package=rare&ecosystem=apt&below=2',
  'hosts with a vulnerability of three': `agents?cve=${RARE}`,
  'hosts with a vulnerability of most': `agents?cve=${WIDE}`,
  'hosts with a vulnerability of a kernel': `agents?cve=${KERNEL}`,
  'hosts of a vulnerability of three': `vulnerabilities/${RARE}/hosts`,
  'hosts of a vulnerability of most': `vulnerabilities/${WIDE}/hosts`,
  'the same, those with an approvable fix': `vulnerabilities/${WIDE}/hosts?state=fixable`,
  'hosts of a vulnerability of a kernel': `vulnerabilities/${KERNEL}/hosts`,
  'hosts where a vulnerability of most is fixed': `vulnerabilities/${WIDE}/hosts?state=fixed`,
  'hosts where one of a kernel is fixed': `vulnerabilities/${KERNEL}/hosts?state=fixed`,
  'one vulnerability': `vulnerabilities/${WIDE}`,
  'the list of vulnerabilities': 'vulnerabilities',
  'the same, those that can be fixed, by hosts': 'vulnerabilities?fix=fixable&sort=-hosts',
  'the same, found by a word': 'vulnerabilities?q=package-77',
  'updates that fix a vulnerability of most': `updates?cve=${WIDE}&state=pending`,
  overview: 'overview',
};
const Answer = Type.Object({
  items: Type.Optional(Type.Array(Type.Unknown())),
  total: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
});

/** Fills a database as `--hosts` hosts with `--packages` packages leave it: its size, and how long questions about the fleet take. */
export async function benchInventoryScale(
  options: BenchOptions & { hosts: number; packages: number },
): Promise<Record<string, unknown>> {
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    const place = engine === 'sqlite' ? onSqlite() : await onPostgres();
    if ('missing' in place) {
      result[engine] = place;
      continue;
    }
    try {
      result[engine] = await measure(place, options);
    } finally {
      await place.close();
    }
  }
  return result;
}

interface Place {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  open(): Database;
  /** Drops the operating system's copies of the files; those of a database's own processes stay. */
  evict(): Promise<void>;
  close(): Promise<void>;
}

function onSqlite(): Place {
  const folder = tmpDir('tidegate-bench-');
  return {
    ...{ dataDir: folder.path, databaseUrl: null },
    open: () => openSqlite(join(folder.path, 'tidegate.db'), databaseOptions()),
    evict: async () => evictAll(folder.path),
    close: async () => folder.remove(),
  };
}

async function onPostgres(): Promise<Place | { missing: string }> {
  // Nothing of a benchmark has to outlive the machine, and a fill is not what is measured.
  const settings = { shared_buffers: '512MB', max_wal_size: '8GB', wal_level: 'minimal', max_wal_senders: 0 };
  const postgres = await startPostgres({ settings });
  if ('missing' in postgres) return postgres;
  const folder = tmpDir('tidegate-bench-');
  const databaseUrl = await postgres.createDatabase();
  const open = () => openPostgres(databaseUrl, databaseOptions());
  return {
    ...{ dataDir: folder.path, databaseUrl, open },
    evict: () => evictPostgres(open),
    async close() {
      await postgres.stop();
      folder.remove();
    },
  };
}

async function evictPostgres(open: () => Database): Promise<void> {
  const database = open();
  const { rows } = await sql<{ data_directory: string }>`SHOW data_directory`.execute(database.read);
  await sql`CHECKPOINT`.execute(database.read);
  await database.close();
  evictAll(String(rows[0]?.data_directory));
}

function evictAll(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, entry);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) continue;
    execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
  }
}

async function measure(place: Place, options: BenchOptions & { hosts: number; packages: number }) {
  const { hosts, packages, say } = options;
  const began = performance.now();
  const database = place.open();
  await fillInventory(database, { hosts, packages, say });
  await fillVulnerabilities(database, hosts);
  const budget = { class: 'admin_reads', requests: 100_000, window_seconds: 60, enabled: 1, updated_at: 1 };
  await database.transact((tx) => tx.insertInto('rate_limits').values(budget).execute());
  if (database.engine === 'postgres') await vacuum(database);
  const filledSeconds = Math.round((performance.now() - began) / 1_000);
  const bytes = await bytesOf(database);
  await database.close();
  say(`filled in ${filledSeconds} s: ${JSON.stringify(bytes)}`);
  return { hosts, packages, filledSeconds, bytes, questions: await askAll(place, options) };
}

/** Asks each question with nothing in the memory of the operating system, and then again and again. */
async function askAll(
  place: Place,
  { rounds, say }: Pick<BenchOptions, 'rounds' | 'say'>,
): Promise<Record<string, unknown>> {
  const server = await startServer(place);
  try {
    const call = await logIn(server.url);
    const clock = cpuClock(server.pid, place.databaseUrl === null ? null : postmasterOf(place.databaseUrl));
    const ask = async (path: string) => {
      const [cpu, startMs] = [clock(), performance.now()];
      const { items, total } = Value.Parse(Answer, await call('GET', `/api/v1/${path}`));
      const wallMs = performance.now() - startMs;
      return { wallMs, cpuMs: cpu(), found: { items: items?.length, total } };
    };
    await ask('agents');
    const results: Record<string, unknown> = {};
    for (const [what, path] of Object.entries(QUESTIONS)) {
      await place.evict();
      const { wallMs: cold, found } = await ask(path);
      const warm = [];
      for (let i = 0; i < rounds; i++) warm.push(await ask(path));
      const wall = warm.map(({ wallMs }) => wallMs);
      const times = { cold, median: median(wall), worst: Math.max(...wall) };
      const cpu = median(warm.map(({ cpuMs }) => cpuMs));
      const rounded = Object.entries({ cpu, ...times }).map(([key, ms]) => [key, Math.round(10 * ms) / 10]);
      results[what] = { ...Object.fromEntries(rounded), ...found };
      say(`${what}: ${JSON.stringify(results[what])}`);
    }
    return results;
  } finally {
    await server.stop();
  }
}

async function startServer({ dataDir, databaseUrl }: Place) {
  return startServerProcess(await serverProgram(), {
    env: {
      ...{ SERVICE_DATA_DIR: dataDir, SERVICE_HOST: '127.0.0.1', SERVICE_PORT: '0' },
      ...{ SERVICE_ADVISORY_SOURCE: 'off', SERVICE_ADMIN_USERNAME: BENCH_USER },
      SERVICE_ADMIN_PASSWORD: BENCH_PASSWORD,
      ...(databaseUrl ? { SERVICE_DATABASE_URL: databaseUrl } : {}),
    },
  });
}

/** Megabytes of each table and of its indexes, the largest first. */
async function bytesOf({ engine, read }: Database): Promise<Record<string, number>> {
  const { rows } =
    engine === 'sqlite'
      ? await sql<{
          name: string;
          bytes: number;
        }>`SELECT name, pgsize AS bytes FROM dbstat WHERE aggregate = TRUE`.execute(read)
      : await sql<{ name: string; bytes: number }>`SELECT c.relname AS name, pg_relation_size(c.oid) AS bytes
          FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
          WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i')`.execute(read);
  const sizes = rows
    .map(({ name, bytes }): [string, number] => [name, Math.round(Number(bytes) / 1e5) / 10])
    .toSorted(([, a], [, b]) => b - a);
  const total = Math.round(sizes.reduce((sum, [, megabytes]) => sum + megabytes, 0));
  return { total, ...Object.fromEntries(sizes.slice(0, 12)) };
}
