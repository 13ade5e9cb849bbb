import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { PackageVersionOf, Subject } from '../advisories/subjects.ts';
import { nameKeys } from '../installed/identity.ts';
import { storedPackages } from '../installed/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { fromHosts, partsOfHosts } from '../platform/db/from-hosts.ts';
import { isOpenUpdate } from '../updates/open-schema.ts';
import type { UpdateRow } from '../updates/store.ts';

const CHECKS_PAGE = 5_000;
/** Updates read per statement, because SQLite cannot be interrupted. */
const READ_ROWS = 2_000;

/** Checks in the order of their key, page by page. */
export async function checksAfter(db: Db, after: Subject) {
  return db
    .selectFrom('advisory_checks')
    .select(['ecosystem', 'name', 'version', 'verdict', 'reason', 'advisory_ids', 'checked_at'])
    .where(sql<SqlBool>`(ecosystem, name, version) > (${after.ecosystem}, ${after.name}, ${after.version})`)
    .orderBy('ecosystem')
    .orderBy('name')
    .orderBy('version')
    .limit(CHECKS_PAGE)
    .execute();
}

/** Hosts by id, page by page. */
export async function activeHosts(db: Db, { after, limit }: { after: string; limit: number }) {
  return db
    .selectFrom('agents')
    .select(['id', 'os_id', 'os_version_id', 'group_name'])
    .where('status', '=', 'active')
    .where('deleted_at', 'is', null)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
}

export async function reportsOf(db: Db, ids: readonly string[]) {
  return db
    .selectFrom('inventory_reports')
    .select(['agent_id', 'ecosystem', 'digest', 'complete', 'package_count'])
    .where('agent_id', 'in', ids)
    .orderBy('agent_id')
    .orderBy('ecosystem')
    .execute();
}

/** The packages of a report. */
export async function packagesOf(
  db: Db,
  report: { agentId: string; ecosystem: string },
): Promise<PackageVersionOf[]> {
  const found: PackageVersionOf[] = [];
  for await (const page of storedPackages(db, report)) {
    for (const { name, version, source_name: sourceName, source_version: sourceVersion, origin } of page) {
      found.push({ name, version, sourceName, sourceVersion, origin });
    }
  }
  return found;
}

/** The last column of the index of open updates. */
const UNDOING = sql<string>`CASE WHEN u.rollback_of IS NULL THEN '' ELSE u.id END`;

type PendingUpdate = Pick<
  UpdateRow,
  | 'id'
  | 'agent_id'
  | 'ecosystem'
  | 'name'
  | 'arch'
  | 'available_version'
  | 'state'
  | 'stopped_under'
  | 'rollback_of'
>;

/** Versions that updates would bring to these hosts, host by host, in parts. */
export function pendingOf(db: Db, ids: readonly string[]): AsyncGenerator<readonly PendingUpdate[]> {
  return partsOfHosts<PendingUpdate>(ids, {
    size: READ_ROWS,
    read: (hosts, after) =>
      fromHosts(db, hosts)
        .crossJoin('updates as u')
        .select(['u.id', 'u.agent_id', 'u.ecosystem', 'u.name', 'u.arch', 'u.available_version'])
        .select(['u.state', 'u.stopped_under', 'u.rollback_of'])
        .whereRef('u.agent_id', '=', 'h.id')
        .where('u.gone', '=', 0)
        .where('u.state', 'in', ['pending', 'awaiting_plan', 'approved', 'installing'])
        // With this condition and this order it is the index of open updates: a host may have any number of ended ones.
        .where(sql.raw<SqlBool>(isOpenUpdate('u.state')))
        .where(after === null ? sql<SqlBool>`1 = 1` : isBehind(after))
        .orderBy('h.id')
        .orderBy('u.ecosystem')
        .orderBy('u.name')
        .orderBy('u.arch')
        .orderBy('u.available_version')
        .orderBy(UNDOING)
        .limit(READ_ROWS)
        .execute(),
  });
}

function isBehind(row: PendingUpdate): RawBuilder<SqlBool> {
  const undoing = row.rollback_of === null ? '' : row.id;
  return sql<SqlBool>`(u.ecosystem, u.name, u.arch, u.available_version, ${UNDOING})
    > (${row.ecosystem}, ${row.name}, ${row.arch}, ${row.available_version}, ${undoing})`;
}

export interface Affected {
  readonly ecosystem: string;
  readonly names: readonly string[];
}

/** These packages of these hosts. */
export async function installedOn(db: Db, ids: readonly string[], { ecosystem, names }: Affected) {
  return selectPackages(db)
    .where('agent_id', 'in', ids)
    .where('name_key', 'in', nameKeys(ecosystem, names))
    .where('ecosystem', '=', ecosystem)
    .where('name', 'in', names)
    .execute();
}

function selectPackages(db: Db) {
  return db
    .selectFrom('host_packages')
    .select(['agent_id', 'name', 'version', 'origin'])
    .select(['source_name as sourceName', 'source_version as sourceVersion']);
}
