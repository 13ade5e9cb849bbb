import { type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { nameKeys } from './identity.ts';

/** Installations up to which the hosts of a package are collected; where it is on more, a walk over all hosts soon fills a page. */
const COLLECTED_MAX = 30_000;

export interface WantedPackages {
  readonly ecosystem: string;
  readonly names: readonly string[];
}

/** Hosts of a scope that have one of these packages, by id, page by page. */
export async function hostsWith(
  db: Db,
  page: WantedPackages & { scope: GroupScope; after: string; limit: number },
) {
  const { ecosystem, names, scope, after, limit } = page;
  if (names.length === 0) return [];
  const wanted = sql<SqlBool>`p.ecosystem = ${ecosystem} AND p.name IN (${sql.join(names)})`;
  const { rows } = await sql<{ installed: number }>`SELECT count(*) AS installed FROM (SELECT 1
    FROM package_identities AS p CROSS JOIN installed_packages AS i
    WHERE ${wanted} AND i.package_id = p.id LIMIT ${COLLECTED_MAX}) AS few`.execute(db);
  const has =
    Number(rows[0]?.installed) < COLLECTED_MAX
      ? sql<SqlBool>`a.id IN (SELECT h.agent_id FROM package_identities AS p
          CROSS JOIN installed_packages AS i CROSS JOIN inventory_agents AS h
          WHERE ${wanted} AND i.package_id = p.id AND h.number = i.agent_number)`
      : sql<SqlBool>`EXISTS (SELECT 1 FROM inventory_agents AS h
          CROSS JOIN installed_packages AS i CROSS JOIN package_identities AS p
          WHERE h.agent_id = a.id AND i.agent_number = h.number
            AND i.name_key IN (${sql.join(nameKeys(ecosystem, names))}) AND p.id = i.package_id AND ${wanted})`;
  return db
    .selectFrom('agents as a')
    .select(['a.id', 'a.hostname', 'a.os_id', 'a.os_version_id', 'a.group_name'])
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where(groupInScope(scope, 'a.group_name'))
    .where('a.id', '>', after)
    .where(has)
    .orderBy('a.id')
    .limit(limit)
    .execute();
}
