import { type SqlBool, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type Change, recordChanges } from './changes-store.ts';
import { keysOf, nameKey, nameKeys, type PackageIdentity } from './identity.ts';
import { internPackages } from './identity-store.ts';

export interface PackageRecord extends PackageIdentity {
  readonly held: number;
}

export interface StoredPackage extends PackageRecord {
  readonly package_id: number;
}

/** What one package manager of a host has installed. */
export interface Section {
  readonly agentId: string;
  readonly ecosystem: string;
}

/** Rows read per statement, because SQLite cannot be interrupted. */
const READ_ROWS = 2_000;
/** Attempts to number an agent: only a drawn number that is taken needs another one. */
const ATTEMPTS = 10;

/** All packages, page by page, in an order that depends on nothing but them: by key, name, architecture and version. */
export async function* storedPackages(
  db: Db,
  { agentId, ecosystem }: Section,
): AsyncGenerator<readonly PackageRecord[]> {
  const [first, last] = keysOf(ecosystem);
  const query = db
    .selectFrom('host_packages')
    .select(['name', 'arch', 'version', 'source_name', 'source_version', 'origin', 'held', 'name_key'])
    .where('agent_id', '=', agentId)
    .where('name_key', '<=', last)
    .orderBy('name_key')
    .orderBy('name')
    .orderBy('arch')
    .orderBy('version')
    .limit(READ_ROWS);
  let page = await query.where('name_key', '>=', first).execute();
  for (;;) {
    // As read: a copy of each row would cost as much as reading it.
    if (page.length > 0) yield page;
    const end = page.at(-1);
    if (!end || page.length < READ_ROWS) return;
    const behind = sql<SqlBool>`(name_key > ${end.name_key}
      OR (name, arch, version) > (${end.name}, ${end.arch}, ${end.version}))`;
    page = await query.where('name_key', '>=', end.name_key).where(behind).execute();
  }
}

/** The packages of a host with these names, of every version and architecture. */
export async function packagesNamed(
  db: Db,
  { agentId, ecosystem }: Section,
  names: readonly string[],
): Promise<StoredPackage[]> {
  const found: StoredPackage[] = [];
  for (const some of chunks([...new Set(names)])) {
    const rows = await db
      .selectFrom('host_packages')
      .select(['package_id', 'name', 'arch', 'version', 'source_name', 'source_version', 'origin', 'held'])
      .where('agent_id', '=', agentId)
      .where('name_key', 'in', nameKeys(ecosystem, some))
      .where('ecosystem', '=', ecosystem)
      .where('name', 'in', some)
      .execute();
    found.push(...rows);
  }
  return found;
}

export async function countPackages(db: Db, { agentId, ecosystem }: Section): Promise<number> {
  const [first, last] = keysOf(ecosystem);
  const { count } = await db
    .selectFrom('inventory_agents as h')
    .innerJoin('installed_packages as i', 'i.agent_number', 'h.number')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('h.agent_id', '=', agentId)
    .where('i.name_key', '>=', first)
    .where('i.name_key', '<=', last)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export interface PackageChanges {
  readonly gone?: readonly PackageIdentity[];
  readonly put?: readonly PackageRecord[];
  /** The stored packages of all these names, where the caller has read them. */
  readonly stored?: readonly StoredPackage[];
}

/**
 * Removes packages of a host by name, architecture and version, then stores others, each in place of the one of the same name,
 * architecture and version. The caller holds the lock of the agent. Changes after the first report are recorded.
 */
export async function changePackages(
  tx: Tx,
  { nowMs, ...place }: Section & { nowMs: number },
  { gone = [], put = [], stored }: PackageChanges,
): Promise<void> {
  const items = [...gone.map((record) => ({ record, to: null })), ...put.map((to) => ({ record: to, to }))];
  if (items.length === 0) return;
  const host = await numberedHost(tx, place);
  for (const some of chunks(items)) {
    const names = some.map(({ record }) => record.name);
    const present = stored ?? (host.isNew ? [] : await packagesNamed(tx, place, names));
    const changes: Change[] = [];
    const removed: StoredPackage[] = [];
    const remove = (known: StoredPackage) => {
      removed.push(known);
      changes.push({ packageId: known.package_id, change: 'removed', held: known.held });
    };
    const byKey = new Map(present.map((row) => [keyOf(row), row]));
    for (const { record } of some.filter(({ to }) => to === null)) {
      const known = byKey.get(keyOf(record));
      if (known) remove(known);
      byKey.delete(keyOf(record));
    }
    const written = some.flatMap(({ to }) => to ?? []);
    const rows = await rowsOf(tx, { ...place, agentNumber: host.number, records: written });
    written.forEach((record, i) => {
      const [packageId = 0, known] = [rows[i]?.package_id, byKey.get(keyOf(record))];
      const { held } = record;
      if (known?.package_id === packageId) {
        if (known.held !== held) changes.push({ packageId, change: 'held', held });
      } else {
        if (known) remove(known);
        changes.push({ packageId, change: 'added', held });
      }
    });
    await deleteInstalled(tx, { agentNumber: host.number, ecosystem: place.ecosystem, removed });
    await insertInstalled(tx, rows);
    if (host.hasBaseline) await recordChanges(tx, { agentNumber: host.number, changes, nowMs });
  }
}

interface InstalledRow {
  agent_number: number;
  name_key: number;
  package_id: number;
  held: number;
}

async function rowsOf(
  tx: Tx,
  { agentNumber, ecosystem, records }: Section & { agentNumber: number; records: readonly PackageRecord[] },
): Promise<InstalledRow[]> {
  const ids = await internPackages(tx, { ecosystem, packages: records });
  return records.map(({ name, held }, i) => ({
    ...{ agent_number: agentNumber, name_key: nameKey(ecosystem, name) },
    ...{ package_id: ids[i] ?? 0, held },
  }));
}

async function insertInstalled(tx: Tx, rows: readonly InstalledRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx
    .insertInto('installed_packages')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['agent_number', 'name_key', 'package_id'])
        .doUpdateSet((e) => ({ held: e.ref('excluded.held') })),
    )
    .execute();
}

function keyOf({ name, arch, version }: Pick<PackageIdentity, 'name' | 'arch' | 'version'>): string {
  return `${name}\n${arch}\n${version}`;
}

/** By whole keys: with the numbers alone SQLite would read all packages of the host. */
async function deleteInstalled(
  tx: Tx,
  {
    agentNumber,
    ecosystem,
    removed,
  }: { agentNumber: number; ecosystem: string; removed: readonly StoredPackage[] },
): Promise<void> {
  if (removed.length === 0) return;
  const keys = removed.map(
    ({ name, package_id: id }) => sql`(CAST(${nameKey(ecosystem, name)} AS INTEGER), CAST(${id} AS INTEGER))`,
  );
  await tx
    .deleteFrom('installed_packages')
    .where('agent_number', '=', agentNumber)
    .where(sql<SqlBool>`(name_key, package_id) IN (VALUES ${sql.join(keys)})`)
    .execute();
}

/** The number of a host, and whether an earlier report of the ecosystem is there to compare with. */
async function numberedHost(
  tx: Tx,
  { agentId, ecosystem }: Section,
): Promise<{ number: number; isNew: boolean; hasBaseline: boolean }> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const row = await tx
      .selectFrom('inventory_agents as h')
      .leftJoin('inventory_reports as r', (join) =>
        join.onRef('r.agent_id', '=', 'h.agent_id').on('r.ecosystem', '=', ecosystem),
      )
      .select(['h.number', 'r.changes_since'])
      .where('h.agent_id', '=', agentId)
      .executeTakeFirst();
    if (row) return { number: row.number, isNew: attempt > 0, hasBaseline: row.changes_since !== null };
    await tx
      .insertInto('inventory_agents')
      .values({ agent_id: agentId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  throw new Error('an agent could not be numbered');
}
