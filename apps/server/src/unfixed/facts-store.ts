import { type SqlBool, sql } from 'kysely';
import type { PackageVersionOf, Subject } from '../advisories/subjects.ts';
import { keysOf, nameKeys } from '../installed/identity.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { fromHosts } from '../platform/db/from-hosts.ts';
import { placeOf } from './unfixed-rules.ts';

const CHECKS_PAGE = 5_000;
/** Hosts whose packages one query reads. */
const READ_HOSTS = 20;

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
    .select(['agent_id', 'ecosystem', 'digest', 'complete'])
    .where('agent_id', 'in', ids)
    .orderBy('agent_id')
    .orderBy('ecosystem')
    .execute();
}

/** The packages of these reports, by `placeOf` host and ecosystem. */
export async function packagesOf(
  db: Db,
  reports: readonly { agentId: string; ecosystem: string }[],
): Promise<Map<string, PackageVersionOf[]>> {
  const found = new Map<string, PackageVersionOf[]>();
  const byEcosystem = Map.groupBy(reports, ({ ecosystem }) => ecosystem);
  for (const [ecosystem, some] of byEcosystem) {
    const [first, last] = keysOf(ecosystem);
    const ids = some.map(({ agentId }) => agentId);
    for (const part of chunks(ids, READ_HOSTS)) {
      const rows = await selectPackages(db)
        .where('ecosystem', '=', ecosystem)
        .where('name_key', '>=', first)
        .where('name_key', '<=', last)
        .where('agent_id', 'in', part)
        .execute();
      for (const { agent_id: agentId, ...row } of rows) {
        const place = placeOf(agentId, ecosystem);
        const own = found.get(place) ?? [];
        found.set(place, own);
        own.push(row);
      }
    }
  }
  return found;
}

/** Versions that updates would bring to these hosts. */
export async function pendingOf(db: Db, ids: readonly string[]) {
  return fromHosts(db, ids)
    .crossJoin('updates as u')
    .select([
      'u.id',
      'u.agent_id',
      'u.ecosystem',
      'u.name',
      'u.available_version',
      'u.state',
      'u.stopped_under',
    ])
    .whereRef('u.agent_id', '=', 'h.id')
    .where('u.gone', '=', 0)
    .where('u.state', 'in', ['pending', 'awaiting_plan', 'approved', 'installing'])
    .execute();
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
