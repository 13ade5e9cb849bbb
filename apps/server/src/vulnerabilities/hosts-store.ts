import { sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { hasAnyOf } from '../vulnerability-index/filter-store.ts';

export interface HostsPage {
  readonly id: string;
  readonly scope: GroupScope;
  readonly after: string;
  readonly limit: number;
}

interface Host {
  readonly id: string;
  readonly hostname: string;
  readonly group_name: string | null;
}

/** Hosts that have a vulnerability now, by id, page by page. */
export async function hostsHaving(
  db: Db,
  { id, scope, after, limit, areMany }: HostsPage & { areMany: boolean },
): Promise<Host[]> {
  return db
    .selectFrom('agents as a')
    .select(['a.id', 'a.hostname', 'a.group_name'])
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where(groupInScope(scope, 'a.group_name'))
    .where('a.id', '>', after)
    .where(hasAnyOf(sql`${id}`, areMany ? 'many' : 'few'))
    .orderBy('a.id')
    .limit(limit)
    .execute();
}

/** Hosts that had it, by their recorded changes, and have it no more. */
export async function hostsFixed(
  db: Db,
  { id, scope, after, limit }: HostsPage,
): Promise<(Host & { fixed_at: number })[]> {
  const { rows } = await sql<Host & { fixed_at: number }>`SELECT a.id, a.hostname, a.group_name,
      MAX(c.changed_at) AS fixed_at
    FROM vulnerability_subjects AS v CROSS JOIN subject_packages AS s CROSS JOIN inventory_changes AS c
    CROSS JOIN inventory_agents AS h CROSS JOIN agents AS a
    WHERE v.vulnerability_id = ${id} AND s.subject = v.subject AND c.package_id = s.package_id AND c.change = 0
      AND h.number = c.agent_number AND a.id = h.agent_id AND a.id > ${after}
      AND a.os_id = s.os_id AND a.os_version_id = s.os_version_id
      AND a.status = 'active' AND a.deleted_at IS NULL AND ${groupInScope(scope, 'a.group_name')}
      AND NOT ${hasAnyOf(sql`${id}`, 'many')}
    GROUP BY a.id, a.hostname, a.group_name ORDER BY a.id LIMIT ${limit}`.execute(db);
  return rows.map((row) => ({ ...row, fixed_at: Number(row.fixed_at) }));
}

/** What these hosts have installed of it, with the subject that it is judged as. */
export async function affectedPackages(db: Db, { id, hosts }: { id: string; hosts: readonly string[] }) {
  if (hosts.length === 0) return [];
  const { rows } = await sql<{
    agent_id: string;
    name: string;
    version: string;
    subject: string;
  }>`SELECT DISTINCT
      a.id AS agent_id, p.name, p.version, v.subject
    FROM agents AS a CROSS JOIN inventory_agents AS h CROSS JOIN vulnerability_subjects AS v
    CROSS JOIN subject_packages AS s CROSS JOIN installed_packages AS i CROSS JOIN package_identities AS p
    WHERE a.id IN (${sql.join(hosts)}) AND h.agent_id = a.id AND v.vulnerability_id = ${id}
      AND s.subject = v.subject AND s.os_id = a.os_id AND s.os_version_id = a.os_version_id
      AND i.package_id = s.package_id AND i.agent_number = h.number AND p.id = i.package_id
    ORDER BY p.name, p.version, v.subject`.execute(db);
  return rows;
}

/** `subject` and version of what is judged to fix it. */
export async function fixesOf(db: Db, id: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('vulnerability_fixes')
    .select(['subject', 'version'])
    .where('vulnerability_id', '=', id)
    .execute();
  return new Set(rows.map(({ subject, version }) => fixKey(subject, version)));
}

export function fixKey(subject: string, version: string): string {
  return `${subject}\n${version}`;
}
