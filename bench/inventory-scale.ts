import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { compareVersions } from '@tidegate/versions';
import { sql } from 'kysely';
import { hostsWith, knownVersions } from '../apps/server/src/installed/hosts-store.ts';
import { nameKey } from '../apps/server/src/installed/identity.ts';
import { internPackages } from '../apps/server/src/installed/identity-store.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import { chunks } from '../apps/server/src/platform/db/chunks.ts';
import type { Database, Db } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import type { BenchOptions } from './run.ts';

/** Images that hosts are made from, and how far their updates may be behind. */
const IMAGES = 8;
const AGES = 10;
/** Packages of an image: most of them are in every image of the same system, and each host has one of its own. */
const PACKAGES = 1_499;
const SHARED = 1_000;
/** Hosts per transaction. */
const STEP = 2_000;
const ASKED = 20;
const PAGE = 50;

const TABLES = ['package_identities', 'inventory_agents', 'installed_packages'] as const;

/** Fills a database as `--hosts` hosts with 1,500 packages leave it; its size, and how long questions about the fleet take. */
export async function benchInventoryScale({ engines, hosts, say }: BenchOptions & { hosts: number }) {
  const result: Record<string, unknown> = {};
  for (const engine of engines) {
    result[engine] = await (engine === 'sqlite' ? onSqlite(hosts, say) : onPostgres(hosts, say));
    say(`${engine}: ${JSON.stringify(result[engine])}`);
  }
  return result;
}

type Say = BenchOptions['say'];

async function onSqlite(hosts: number, say: Say) {
  using folder = tmpDir('tidegate-bench-');
  const file = join(folder.path, 'tidegate.db');
  const open = () => openSqlite(file, databaseOptions());
  return await measure({ hosts, say, open, evict: async () => evictAll(folder.path) });
}

async function onPostgres(hosts: number, say: Say) {
  // Nothing of a benchmark has to outlive the machine, and a fill is not what is measured.
  const postgres = await startPostgres({ settings: { shared_buffers: '512MB', max_wal_size: '8GB' } });
  if ('missing' in postgres) return postgres;
  try {
    const url = await postgres.createDatabase();
    const open = () => openPostgres(url, databaseOptions());
    const evict = async () => {
      const database = open();
      const { rows } = await sql<{ data_directory: string }>`SHOW data_directory`.execute(database.read);
      await sql`CHECKPOINT`.execute(database.read);
      await database.close();
      evictAll(String(rows[0]?.data_directory));
    };
    return await measure({ hosts, say, open, evict });
  } finally {
    await postgres.stop();
  }
}

interface Scale {
  readonly hosts: number;
  readonly say: Say;
  readonly open: () => Database;
  /** Drops the operating system's copies of the files; those of a database's own processes stay. */
  readonly evict: () => Promise<void>;
}

async function measure({ hosts, say, open, evict }: Scale) {
  const began = performance.now();
  let database = open();
  await migrate(database, { migrations: MIGRATIONS, now: Date.now });
  await fill(database, { hosts, say });
  const filledSeconds = Math.round((performance.now() - began) / 1_000);
  if (database.engine === 'postgres') await sql`VACUUM ANALYZE`.execute(database.read);
  const bytes = await bytesOf(database);
  const installed = await database.read
    .selectFrom('installed_packages')
    .select((e) => e.fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow();
  const rows = Number(installed.rows);
  const each = Math.round((10 * (bytes.total ?? 0)) / rows) / 10;
  say(`${rows} packages in ${filledSeconds} s: ${JSON.stringify(bytes)}, ${each} bytes each`);
  const questions: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(QUESTIONS)) {
    await database.close();
    await evict();
    database = open();
    const cold = await timed(() => ask(database.read));
    const warm: number[] = [];
    for (let i = 0; i < ASKED; i++) warm.push((await timed(() => ask(database.read))).ms);
    warm.sort((a, b) => a - b);
    questions[what] = { found: cold.found, coldMs: cold.ms, medianMs: warm[ASKED / 2], worstMs: warm.at(-1) };
    say(`${what}: ${JSON.stringify(questions[what])}`);
  }
  await database.close();
  return { hosts, rows, filledSeconds, bytes, bytesEach: each, questions };
}

async function timed(ask: () => Promise<unknown[]>): Promise<{ ms: number; found: number }> {
  const began = performance.now();
  const found = await ask();
  return { ms: Math.round(10 * (performance.now() - began)) / 10, found: found.length };
}

const QUESTIONS: Readonly<Record<string, (db: Db) => Promise<unknown[]>>> = {
  'below a version, a package of every host': (db) => hostsBelow(db, { name: 'shared-7', below: '1.9-1' }),
  'below a version, the first versions alone': (db) => hostsBelow(db, { name: 'shared-7', below: '1.1-1' }),
  'below a version, a package of one image': (db) => hostsBelow(db, { name: 'image-3-7', below: '1.9-1' }),
  'below a version, a package of one host': (db) => hostsBelow(db, { name: 'own-90', below: '2.0-1' }),
  'one version of three packages of a source': (db) =>
    hostsWith(db, {
      ...{ ecosystem: 'apt', names: ['shared-7', 'shared-8', 'shared-9'], versions: ['1.2-1'] },
      ...EVERYWHERE,
    }),
  'one version of a package, the last page': (db) =>
    hostsWith(db, {
      ...{ ecosystem: 'apt', names: ['shared-7'], versions: ['1.0-1'], scope: null, limit: PAGE },
      after: '01900000-0000-7000-8000-00000001',
    }),
  'one version of a package of one image': (db) =>
    hostsWith(db, { ecosystem: 'apt', names: ['image-3-7'], versions: ['1.0-1'], ...EVERYWHERE }),
};
const EVERYWHERE = { scope: null, after: '', limit: PAGE };

async function hostsBelow(db: Db, { name, below }: { name: string; below: string }) {
  const known = await knownVersions(db, { ecosystem: 'apt', name });
  const versions = known.filter((version) => compareVersions('apt', version, below) === -1);
  return hostsWith(db, { ecosystem: 'apt', names: [name], versions, ...EVERYWHERE });
}

/** What each image has at each age is stored once; a host copies it, as its report would leave it. */
async function fill(database: Database, { hosts, say }: { hosts: number; say: Say }): Promise<void> {
  await database.transact(async (tx) => {
    // The disk is not what is measured: pages that many hosts change are written once for all of these.
    const settings = ['cache_size = -1000000', 'wal_autocheckpoint = 200000'];
    if (database.engine === 'sqlite') for (const one of settings) await sql.raw(`PRAGMA ${one}`).execute(tx);
    await sql`CREATE TABLE bench_templates
      (template INTEGER, name_key INTEGER, package_id INTEGER, PRIMARY KEY (template, name_key, package_id))`.execute(
      tx,
    );
    for (let template = 0; template < IMAGES * AGES; template++) {
      for (const packages of chunks(packagesOf(template))) {
        const ids = await internPackages(tx, { ecosystem: 'apt', packages });
        const rows = packages.map(
          ({ name }, i) => sql`(${sql.lit(template)}, ${sql.lit(nameKey('apt', name))}, ${sql.lit(ids[i])})`,
        );
        await sql`INSERT INTO bench_templates VALUES ${sql.join(rows)}`.execute(tx);
      }
    }
  });
  await insertAgents(database, hosts);
  const agents = await database.read.selectFrom('agents').select('id').orderBy('id').execute();
  for (const [step, some] of chunks(agents, STEP).entries()) {
    await database.transact(async (tx) => {
      await tx
        .insertInto('inventory_agents')
        .values(some.map(({ id }) => ({ agent_id: id })))
        .execute();
      const numbered = await tx
        .selectFrom('inventory_agents')
        .select(['number', 'agent_id'])
        .where(
          'agent_id',
          'in',
          some.map(({ id }) => id),
        )
        .orderBy('agent_id')
        .execute();
      const own = some.map((_, i) => identity(`own-${step * STEP + i}`, 0));
      const ids = await internPackages(tx, { ecosystem: 'apt', packages: own });
      for (const [i, { number }] of numbered.entries()) {
        await sql`INSERT INTO installed_packages (agent_number, name_key, package_id, held)
          SELECT ${sql.lit(number)}, name_key, package_id, 0 FROM bench_templates
          WHERE template = ${templateOf(step * STEP + i)} ORDER BY name_key, package_id`.execute(tx);
      }
      const rows = numbered.map(({ number: agent_number }, i) => ({
        ...{ agent_number, package_id: ids[i] ?? 0, name_key: nameKey('apt', own[i]?.name ?? ''), held: 0 },
      }));
      await tx.insertInto('installed_packages').values(rows).execute();
    });
    if (step % 10 === 9) say(`${(step + 1) * STEP} hosts`);
  }
  await database.transact((tx) => sql`DROP TABLE bench_templates`.execute(tx));
}

async function insertAgents(database: Database, hosts: number): Promise<void> {
  const numbers = Array.from({ length: hosts }, (_, n) => n);
  await database.transact(async (tx) => {
    for (const some of chunks(numbers)) {
      const rows = some.map((n) => ({
        ...{ id: `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`, machine_id: `machine-${n}` },
        ...{ status: 'active' as const, hostname: `host-${n}`, os_family: 'linux' as const, os_id: 'debian' },
        ...{ os_version_id: '12', os_arch: 'amd64', agent_version: '1.0.0', key_set_version: 0, next_seq: 1 },
        ...{ inventory_digests: '{}', enrolled_at: 1 },
      }));
      await tx.insertInto('agents').values(rows).execute();
    }
  });
}

/** Drawn, but the same in every run. */
function templateOf(host: number): number {
  return drawn(host, 1) % (IMAGES * AGES);
}

function packagesOf(template: number) {
  const image = template % IMAGES;
  const age = Math.floor(template / IMAGES);
  return Array.from({ length: PACKAGES }, (_, n) => {
    // About one update of a package in five at each age.
    const updates = Array.from({ length: age }, (_, i) => drawn(n, i + 2) % 5).filter(
      (one) => one === 0,
    ).length;
    return identity(n < SHARED ? `shared-${n}` : `image-${image}-${n - SHARED}`, updates);
  });
}

function identity(name: string, updates: number) {
  const version = `1.${updates}-1`;
  const source = { source_name: name, source_version: version, origin: 'Debian:12/stable' };
  return { name, version, arch: 'amd64', ...source };
}

function drawn(n: number, salt: number): number {
  return Math.imul(Math.imul(n + 1, 2_654_435_761) ^ Math.imul(salt, 40_503), 2_246_822_519) >>> 8;
}

/** With the indexes. */
async function bytesOf({ engine, read }: Database): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for (const table of TABLES) {
    const { rows } =
      engine === 'sqlite'
        ? await sql<{
            bytes: number;
          }>`SELECT sum(pgsize) AS bytes FROM dbstat WHERE aggregate = TRUE AND name IN
            (SELECT name FROM sqlite_schema WHERE tbl_name = ${table})`.execute(read)
        : await sql<{ bytes: number }>`SELECT pg_total_relation_size(${table}::regclass) AS bytes`.execute(
            read,
          );
    sizes[table] = Number(rows[0]?.bytes);
  }
  return { ...sizes, total: Object.values(sizes).reduce((sum, one) => sum + one, 0) };
}

function evictAll(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, entry);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) continue;
    execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
  }
}
