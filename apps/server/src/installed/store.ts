import { type SqlBool, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, HotRow, HotSql, Tx } from '../platform/db/engine.ts';
import { hotSql, text, textOrNull } from '../platform/db/hot-sql.ts';
import { changesOf } from './changes-of.ts';
import { recordChanges } from './changes-store.ts';
import { type InstalledKey, keysOf, nameKey, nameKeys, type PackageIdentity } from './identity.ts';
import { internPackages } from './identity-store.ts';

export interface PackageRecord extends PackageIdentity {
  readonly held: number;
}

/** A package of a host as it is stored: its identity by number. */
export interface InstalledPackage extends InstalledKey {
  readonly held: number;
  readonly name_key: number;
  readonly package_id: number;
}

export interface StoredPackage extends PackageRecord, InstalledPackage {}

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
  section: Section,
  names: readonly string[],
): Promise<StoredPackage[]> {
  const found: StoredPackage[] = [];
  for await (const page of pagesNamed(db, section, names)) found.push(...page);
  return found;
}

/** The same, page by page: a host may have hundreds of thousands of versions of one name. */
export async function* pagesNamed(
  db: Db,
  { agentId, ecosystem }: Section,
  names: readonly string[],
): AsyncGenerator<readonly StoredPackage[]> {
  for (const some of chunks([...new Set(names)])) {
    const wanted = new Set(some);
    const keys = nameKeys(ecosystem, some);
    for (let after = [0, 0]; ; ) {
      const rows = await db.run(PACKAGES_NAMED, [agentId, keys, ecosystem, ...after]);
      // Another name may have the same key.
      yield rows.map(storedPackage).filter(({ name }) => wanted.has(name));
      const end = rows.at(-1);
      if (!end || rows.length < READ_ROWS) break;
      after = [Number(end[7]), Number(end[8])];
    }
  }
}

/** Of the host that the first value names, what is installed (i) and what that is (p). */
export const OF_HOST = {
  sqlite: `FROM inventory_agents AS h CROSS JOIN installed_packages AS i CROSS JOIN package_identities AS p
    WHERE h.agent_id = ? AND i.agent_number = h.number AND p.id = i.package_id`,
  // OFFSET 0: each identity is looked up by its key. A plan for all hosts would rather read all identities of the fleet.
  postgres: `FROM installed_packages AS i
      CROSS JOIN LATERAL (SELECT * FROM package_identities WHERE id = i.package_id OFFSET 0) AS p
    WHERE i.agent_number = (SELECT number FROM inventory_agents WHERE agent_id = $1)`,
};

const NAMED_COLUMNS =
  'p.name, p.arch, p.version, p.source_name, p.source_version, p.origin, i.held, i.name_key, i.package_id';
const IN_ORDER = `ORDER BY i.name_key, i.package_id LIMIT ${READ_ROWS}`;
const PACKAGES_NAMED: HotSql = {
  name: 'packages_named',
  sqlite: `SELECT ${NAMED_COLUMNS} ${OF_HOST.sqlite}
    AND i.name_key IN (SELECT value FROM json_each(?)) AND p.ecosystem = ?
    AND (i.name_key, i.package_id) > (?, ?) ${IN_ORDER}`,
  postgres: `SELECT ${NAMED_COLUMNS} ${OF_HOST.postgres}
    AND i.name_key = ANY($2::integer[]) AND p.ecosystem = $3 AND (i.name_key, i.package_id) > ($4, $5) ${IN_ORDER}`,
};

/** The columns in the order of PACKAGES_NAMED. */
function storedPackage(row: HotRow): StoredPackage {
  return {
    ...{ name: text(row[0]), arch: text(row[1]), version: text(row[2]) },
    ...{ source_name: textOrNull(row[3]), source_version: textOrNull(row[4]), origin: textOrNull(row[5]) },
    ...{ held: Number(row[6]), name_key: Number(row[7]), package_id: Number(row[8]) },
  };
}

export async function countPackages(db: Db, { agentId, ecosystem }: Section): Promise<number> {
  const [first, last] = keysOf(ecosystem);
  const [row] = await db.run(COUNT_PACKAGES, [agentId, first, last]);
  return Number(row?.[0]);
}

const COUNT_PACKAGES = hotSql(
  'count_packages',
  `SELECT count(*) FROM installed_packages
    WHERE agent_number = (SELECT number FROM inventory_agents WHERE agent_id = ?) AND name_key BETWEEN ? AND ?`,
);

export interface PackageChanges {
  readonly gone?: readonly InstalledKey[];
  readonly put?: readonly PackageRecord[];
  /** What is stored of their keys, by key; more does no harm. */
  readonly stored: ReadonlyMap<string, InstalledPackage>;
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
  const items = [...gone.map((record) => ({ record, to: null })), ...put.map((to) => ({ record: to, to }))]
    .map((item) => ({ ...item, key: nameKey(place.ecosystem, item.record.name) }))
    // So that PostgreSQL fills the pages of the primary key, and a version meets the one that takes its place.
    .toSorted((a, b) => a.key - b.key);
  if (items.length === 0) return;
  const host = await numberedHost(tx, place);
  for (const some of chunks(items)) {
    const written = some.flatMap(({ to, key }) => (to ? { ...to, name_key: key } : []));
    const rows = await numbered(tx, { ...place, records: written });
    const going = some.flatMap(({ record, to }) => (to === null ? [record] : []));
    const { removed, changes } = changesOf({ stored, gone: going, put: rows });
    await tx.runEach(
      DELETE_INSTALLED,
      removed.map((row) => [host.number, row.name_key, row.package_id]),
    );
    await tx.runEach(
      PUT_INSTALLED,
      rows.map((row) => [host.number, row.name_key, row.package_id, row.held]),
    );
    if (host.hasBaseline) await recordChanges(tx, { agentNumber: host.number, changes, nowMs });
  }
}

/** By whole keys, as each engine has them: with fewer columns SQLite, and with more PostgreSQL, reads all packages of the name. */
const DELETE_INSTALLED: HotSql = {
  name: 'delete_installed',
  sqlite: 'DELETE FROM installed_packages WHERE agent_number = ? AND name_key = ? AND package_id = ?',
  postgres: `DELETE FROM installed_packages AS i USING unnest($1::integer[], $2::integer[], $3::integer[])
      AS k (agent_number, name_key, package_id)
    WHERE i.package_id = k.package_id AND i.agent_number = k.agent_number`,
};

const INSTALLED_COLUMNS = '(agent_number, name_key, package_id, held)';
const ON_INSTALLED = 'DO UPDATE SET held = excluded.held';
const PUT_INSTALLED: HotSql = {
  name: 'put_installed',
  sqlite: `INSERT INTO installed_packages ${INSTALLED_COLUMNS} VALUES (?, ?, ?, ?)
    ON CONFLICT (agent_number, name_key, package_id) ${ON_INSTALLED}`,
  postgres: `INSERT INTO installed_packages ${INSTALLED_COLUMNS}
    SELECT * FROM unnest($1::integer[], $2::integer[], $3::integer[], $4::smallint[])
    ON CONFLICT (package_id, agent_number) ${ON_INSTALLED}`,
};

async function numbered(
  tx: Tx,
  { ecosystem, records }: { ecosystem: string; records: readonly Omit<StoredPackage, 'package_id'>[] },
): Promise<StoredPackage[]> {
  const ids = await internPackages(tx, { ecosystem, packages: records });
  return records.map((record, i) => ({ ...record, package_id: ids[i] ?? 0 }));
}

/** The number of a host, and whether an earlier report of the ecosystem is there to compare with. */
async function numberedHost(
  tx: Tx,
  { agentId, ecosystem }: Section,
): Promise<{ number: number; hasBaseline: boolean }> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [row] = await tx.run(NUMBERED_HOST, [ecosystem, agentId]);
    if (row) return { number: Number(row[0]), hasBaseline: row[1] !== null };
    await tx
      .insertInto('inventory_agents')
      .values({ agent_id: agentId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  throw new Error('an agent could not be numbered');
}

const NUMBERED_HOST = hotSql(
  'numbered_host',
  `SELECT h.number, r.changes_since FROM inventory_agents AS h
    LEFT JOIN inventory_reports AS r ON r.agent_id = h.agent_id AND r.ecosystem = ? WHERE h.agent_id = ?`,
);
