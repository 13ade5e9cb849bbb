import { sql } from 'kysely';
import { nameKey } from '../apps/server/src/installed/identity.ts';
import { internPackages } from '../apps/server/src/installed/identity-store.ts';
import { chunks } from '../apps/server/src/platform/db/chunks.ts';
import type { Database, Tx } from '../apps/server/src/platform/db/engine.ts';
import { makeListFleet, waitForever } from './list-fleet.ts';

/** Images that hosts are made from, and what they draw from: names, and three to six versions of each. */
const IMAGES = 40;
/** The share of an image's packages that every image has. */
const SHARED = 0.4;
const NAMES = 10_000;
/** One package in so many differs from the image. */
const VARIED = 20;
/** The half year that changes are kept for; in each week one package in so many changes. */
const WEEKS = 26;
const CHANGED = 100;
const WEEK_MS = 7 * 86_400_000;
/** Hosts of one statement, and of one transaction. */
const STATEMENT = 100;
const STEP = 1_000;
const EVENTS = 1_000;

export interface Filling {
  readonly hosts: number;
  /** Of each host. */
  readonly packages: number;
  readonly say: (line: string) => void;
}

/**
 * Fills a database as `hosts` hosts with 1,500 packages and half a year of changes leave it: the rows of a host come in the order of
 * their keys, as reports are stored.
 */
export async function fillInventory(database: Database, { hosts, packages, say }: Filling): Promise<void> {
  await makeListFleet(database, { hosts, updates: hosts, events: EVENTS });
  say('hosts and updates are there');
  await database.transact(async (tx) => {
    await waitForever(tx, database);
    // The disk is not what is measured: pages that many hosts change are written once for all of these.
    const settings = ['cache_size = -2000000', 'wal_autocheckpoint = 200000'];
    if (database.engine === 'sqlite') for (const one of settings) await sql.raw(`PRAGMA ${one}`).execute(tx);
    await tx.updateTable('agents').set({ os_id: 'debian' }).execute();
    await makeTemplates(tx, packages);
    await sql`CREATE TABLE bench_hosts (n INTEGER PRIMARY KEY, number INTEGER NOT NULL, template INTEGER NOT NULL)`.execute(
      tx,
    );
  });
  const agents = await database.read
    .selectFrom('agents')
    .select(['id', 'os_version_id'])
    .orderBy('id')
    .execute();
  const began = performance.now();
  const nowMs = Date.now();
  for (const [step, some] of chunks(agents, STEP).entries()) {
    await database.transact(async (tx) => {
      await waitForever(tx, database);
      await numberHosts(tx, { from: step * STEP, agents: some, packages, nowMs });
      for (let from = step * STEP; from < step * STEP + some.length; from += STATEMENT) {
        await installPackages(tx, from);
        await recordHistory(tx, { from, changed: Math.floor(packages / CHANGED), nowMs });
      }
    });
    if (step % 5 === 4)
      say(`${(step + 1) * STEP} hosts after ${Math.round((performance.now() - began) / 1_000)} s`);
  }
}

/** What an image has is stored once: `other_id` is the version before, which some of its hosts still have. */
async function makeTemplates(tx: Tx, count: number): Promise<void> {
  await sql`CREATE TABLE bench_templates (template INTEGER, position INTEGER, name_key INTEGER, package_id INTEGER,
    other_id INTEGER, PRIMARY KEY (template, position))`.execute(tx);
  for (let template = 0; template < IMAGES; template++) {
    const packages = packagesOf(template, count);
    for (const [part, some] of chunks(packages).entries()) {
      const ids = await internPackages(tx, { ecosystem: 'apt', packages: some.map(({ now }) => now) });
      const others = await internPackages(tx, {
        ecosystem: 'apt',
        packages: some.map(({ before }) => before),
      });
      const rows = some.map(
        ({ now }, i) =>
          sql`(${sql.lit(template)}, ${sql.lit(part * 500 + i)}, ${sql.lit(nameKey('apt', now.name))},
            ${sql.lit(ids[i])}, ${sql.lit(others[i])})`,
      );
      await sql`INSERT INTO bench_templates VALUES ${sql.join(rows)}`.execute(tx);
    }
  }
}

/** In the order of their names. */
function packagesOf(template: number, count: number) {
  const shared = Math.floor(count * SHARED);
  const own = new Set(Array.from({ length: shared }, (_, n) => n));
  for (let i = 0; own.size < count; i++) own.add(shared + (drawn(i, template) % (NAMES - shared)));
  return [...own]
    .map((name) => {
      const versions = versionsOf(name);
      const version = drawn(name * IMAGES + template, 5) % versions;
      const before = version === 0 ? versions - 1 : version - 1;
      return { now: identity(name, version), before: identity(name, before) };
    })
    .toSorted((a, b) => (a.now.name < b.now.name ? -1 : 1));
}

export function versionsOf(name: number): number {
  return 3 + (drawn(name, 3) % 4);
}

/** Every third package is built from the source of the one before. */
export function identity(name: number, version: number) {
  const of = `1.${version}-2`;
  const source = `package-${name - (name % 3 === 2 ? 1 : 0)}`;
  return {
    ...{ name: `package-${name}`, version: of, arch: 'amd64' },
    ...{ source_name: source, source_version: of, origin: 'Debian:12/stable' },
  };
}

/** An image is of one release of the system. */
function templateOf(n: number, osVersion: string): number {
  return ((Number(osVersion) % 4) * IMAGES) / 4 + (drawn(n, 1) % (IMAGES / 4));
}

async function numberHosts(
  tx: Tx,
  {
    from,
    agents,
    packages,
    nowMs,
  }: { from: number; agents: { id: string; os_version_id: string }[]; packages: number; nowMs: number },
): Promise<void> {
  const ids = agents.map(({ id }) => id);
  const changes = 2 * WEEKS * Math.floor(packages / CHANGED);
  const numbers = new Map<string, number>();
  for (const some of chunks(ids)) {
    // A number that PostgreSQL draws may be taken.
    for (let left = some; left.length > 0; left = left.filter((id) => !numbers.has(id))) {
      const rows = await tx
        .insertInto('inventory_agents')
        .values(left.map((agent_id) => ({ agent_id, changes })))
        .onConflict((conflict) => conflict.doNothing())
        .returning(['agent_id', 'number'])
        .execute();
      for (const row of rows) numbers.set(row.agent_id, row.number);
    }
    await tx.deleteFrom('inventory_reports').where('agent_id', 'in', some).execute();
    const report = {
      ...{ ecosystem: 'apt', scanned_at: nowMs, received_at: nowMs, complete: 1, package_count: packages },
      ...{ writing: null, condition: null, changes_since: nowMs - (WEEKS + 1) * WEEK_MS },
    };
    await tx
      .insertInto('inventory_reports')
      .values(
        some.map((agent_id) => ({ ...report, agent_id, digest: agent_id.replaceAll('-', '').repeat(2) })),
      )
      .execute();
  }
  for (const [part, some] of chunks(agents).entries()) {
    const rows = some.map(({ id, os_version_id }, i) => {
      const n = from + part * 500 + i;
      return sql`(${sql.lit(n)}, ${sql.lit(numbers.get(id) ?? 0)}, ${sql.lit(templateOf(n, os_version_id))})`;
    });
    await sql`INSERT INTO bench_hosts VALUES ${sql.join(rows)}`.execute(tx);
  }
}

async function installPackages(tx: Tx, from: number): Promise<void> {
  await sql`INSERT INTO installed_packages (agent_number, name_key, package_id, held)
    SELECT h.number, t.name_key,
      CASE WHEN (CAST(t.position + 1 AS BIGINT) * (h.n + 1) % 1009) % ${sql.lit(VARIED)} = 0
        THEN t.other_id ELSE t.package_id END, 0
    FROM bench_hosts AS h CROSS JOIN bench_templates AS t
    WHERE h.n >= ${sql.lit(from)} AND h.n < ${sql.lit(from + STATEMENT)} AND t.template = h.template
    ORDER BY h.n, t.name_key`.execute(tx);
}

/** Each row is a change of a version, which counts as a removal and an addition. */
async function recordHistory(
  tx: Tx,
  { from, changed, nowMs }: { from: number; changed: number; nowMs: number },
): Promise<void> {
  const first = sql.lit(nowMs - WEEKS * WEEK_MS);
  await sql`INSERT INTO inventory_changes (agent_number, position, package_id, change, held, changed_at, replaced_id)
    SELECT h.number, t.position * 2 + 2, t.package_id, 1, 0,
      CAST(${first} AS BIGINT) + (t.position / ${sql.lit(changed)}) * CAST(${sql.lit(WEEK_MS)} AS BIGINT) + h.n,
      t.other_id
    FROM bench_hosts AS h CROSS JOIN bench_templates AS t
    WHERE h.n >= ${sql.lit(from)} AND h.n < ${sql.lit(from + STATEMENT)} AND t.template = h.template
      AND t.position < ${sql.lit(WEEKS * changed)}
    ORDER BY h.n, t.position`.execute(tx);
}

/** Drawn, but the same in every run. */
export function drawn(n: number, salt: number): number {
  return Math.imul(Math.imul(n + 1, 2_654_435_761) ^ Math.imul(salt, 40_503), 2_246_822_519) >>> 8;
}
