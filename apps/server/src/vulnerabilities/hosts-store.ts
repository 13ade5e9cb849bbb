import { type SqlBool, sql } from 'kysely';
import { type InstalledPackages, listOf } from '../installed/find-store.ts';
import { compareText } from '../platform/compare-text.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { hasVulnerable, isLinked, type Vulnerable } from '../vulnerability-index/filter-store.ts';

interface HostsPage {
  readonly found: Vulnerable;
  readonly scope: GroupScope;
  readonly after: string;
  readonly limit: number;
}

interface Host {
  readonly id: string;
  readonly hostname: string;
  readonly group_name: string | null;
}

interface System {
  readonly os_id: string;
  readonly os_version_id: string;
}

/** Hosts up to which they are found from their packages; of more a walk soon fills a page. */
const FEW_HOSTS = 5_000;
/** The same, of changes in the histories of all hosts. */
const FEW_CHANGES = 20_000;

function activeHosts(db: Db, { scope, after, limit }: Omit<HostsPage, 'found'>) {
  return db
    .selectFrom('agents as a')
    .select(['a.id', 'a.hostname', 'a.group_name', 'a.os_id', 'a.os_version_id'])
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where(groupInScope(scope, 'a.group_name'))
    .where('a.id', '>', after)
    .orderBy('a.id')
    .limit(limit);
}

/** Hosts that have a vulnerability now, by id, page by page. */
export async function hostsHaving(db: Db, { found, ...page }: HostsPage): Promise<(Host & System)[]> {
  const matches = found.hosts > FEW_HOSTS ? 'many' : 'few';
  return activeHosts(db, page).where(hasVulnerable(found, matches)).execute();
}

/**
 * Hosts that had it, by their recorded changes, and have it no more: what is found of the next `looks` hosts, of those alone that lost
 * such a package where these are few; `last` is where the next page goes on.
 */
export async function hostsFixed(
  db: Db,
  { looks, fewChanges = FEW_CHANGES, ...page }: HostsPage & { looks: number; fewChanges?: number },
): Promise<{ hosts: (Host & System & { fixed_at: number })[]; last: string | null }> {
  const { found, limit } = page;
  const { installed } = found;
  if (installed.ids.length === 0) return { hosts: [], last: null };
  const areFew = !installed.areTooMany && (await countChanges(db, installed, fewChanges)) < fewChanges;
  const active = activeHosts(db, { ...page, limit: looks });
  const looked = await (areFew ? active.where(hasLost(installed)) : active).execute();
  const among = looked.map(({ id }) => id);
  const hosts = among.length === 0 ? [] : await fixedOf(db, { ...page, limit: limit + 1, among });
  if (hosts.length > limit) return { hosts: hosts.slice(0, limit), last: hosts[limit - 1]?.id ?? null };
  return { hosts, last: among.length === looks ? (among.at(-1) ?? null) : null };
}

/** Counted up to `most`. */
async function countChanges(db: Db, { ids }: InstalledPackages, most: number): Promise<number> {
  const { rows } = await sql<{
    changes: number;
  }>`SELECT count(*) AS changes FROM (SELECT 1 FROM inventory_changes AS c
      WHERE c.package_id IN (${listOf(ids)})
    UNION ALL SELECT 1 FROM inventory_changes AS c WHERE c.replaced_id IN (${listOf(ids)})
    LIMIT ${most}) AS few`.execute(db);
  return Number(rows[0]?.changes);
}

/**
 * Whether host `a` had a package that a change took away. MATERIALIZED: PostgreSQL would look at the history of each host for the
 * first few that match.
 */
function hasLost({ ids }: InstalledPackages) {
  return sql<SqlBool>`a.id IN (WITH lost AS MATERIALIZED (
      SELECT c.agent_number FROM inventory_changes AS c WHERE c.package_id IN (${listOf(ids)}) AND c.change = 0
      UNION ALL SELECT c.agent_number FROM inventory_changes AS c WHERE c.replaced_id IN (${listOf(ids)}))
    SELECT h.agent_id FROM lost CROSS JOIN inventory_agents AS h WHERE h.number = lost.agent_number)`;
}

/** The package that a change took away; null: it took none. */
const WENT = sql<number | null>`CASE c.change WHEN 0 THEN c.package_id ELSE c.replaced_id END`;

async function fixedOf(
  db: Db,
  { found, limit, among }: Pick<HostsPage, 'found' | 'limit'> & { among: readonly string[] },
): Promise<(Host & System & { fixed_at: number })[]> {
  const { areTooMany, ids } = found.installed;
  // A value in place of a condition keeps PostgreSQL from joining: it would probe each host once for each system.
  const { rows } = await sql<Host & System & { fixed_at: number }>`SELECT a.id, a.hostname, a.group_name,
      a.os_id, a.os_version_id, MAX(c.changed_at) AS fixed_at
    FROM agents AS a CROSS JOIN inventory_agents AS h CROSS JOIN inventory_changes AS c
    WHERE a.id IN (${sql.join(among)}) AND h.agent_id = a.id AND c.agent_number = h.number
      ${areTooMany ? sql`` : sql`AND ${WENT} IN (${listOf(ids)})`}
      AND (SELECT ${isLinked(found.ids, WENT)} LIMIT 1) AND NOT ${hasVulnerable(found, 'many')}
    GROUP BY a.id, a.hostname, a.group_name, a.os_id, a.os_version_id ORDER BY a.id LIMIT ${limit}`.execute(
    db,
  );
  return rows.map((row) => ({ ...row, fixed_at: Number(row.fixed_at) }));
}

/** What these hosts have installed of it, with the subject that it is judged as. */
export async function affectedPackages(
  db: Db,
  {
    id,
    installed,
    hosts,
  }: { id: string; installed: InstalledPackages; hosts: readonly (System & { id: string })[] },
) {
  const rows = await packagesNamed(db, { installed, hosts });
  const systems = new Map(hosts.map((host) => [host.id, host]));
  const links = await linksOf(db, { id, packages: [...new Set(rows.map((row) => row.package_id))] });
  const subjects = Map.groupBy(links, linkKey);
  return rows.flatMap(({ agent_id, package_id, name, version }) => {
    const { os_id = '', os_version_id = '' } = systems.get(agent_id) ?? {};
    const own = subjects.get(linkKey({ package_id, os_id, os_version_id })) ?? [];
    return own.map(({ subject }) => ({ agent_id, name, version, subject }));
  });
}

/** What these hosts have installed under the names of packages that have it in some version. */
export async function packagesNamed(
  db: Db,
  { installed, hosts }: { installed: InstalledPackages; hosts: readonly { id: string }[] },
) {
  if (hosts.length === 0) return [];
  return (
    db
      .selectFrom('host_packages')
      .select([
        'agent_id',
        'package_id',
        'ecosystem',
        'name',
        'version',
        'source_name',
        'source_version',
        'origin',
      ])
      .where(
        'agent_id',
        'in',
        hosts.map((host) => host.id),
      )
      // There may be more than values that can be bound.
      .where(sql<SqlBool>`name_key IN (${listOf(installed.keys)})`)
      .orderBy('name')
      .orderBy('version')
      .execute()
  );
}

function linkKey({ package_id, os_id, os_version_id }: System & { package_id: number }): string {
  return `${package_id}\n${os_id}\n${os_version_id}`;
}

/** As what these packages are judged to have it, on which system. */
async function linksOf(db: Db, { id, packages }: { id: string; packages: readonly number[] }) {
  const rows = [];
  for (const some of chunks(packages)) {
    rows.push(
      ...(await db
        .selectFrom('vulnerability_subjects as v')
        .innerJoin('subject_packages as s', 's.subject', 'v.subject')
        .select(['s.subject', 's.package_id', 's.os_id', 's.os_version_id'])
        .where('v.vulnerability_id', '=', id)
        .where('s.package_id', 'in', some)
        .execute()),
    );
  }
  return rows.sort((a, b) => compareText(a.subject, b.subject));
}

/** The versions that are judged to fix it, by the subject that has it. */
export async function fixesOf(db: Db, id: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db
    .selectFrom('vulnerability_fixes')
    .select(['subject', 'version'])
    .where('vulnerability_id', '=', id)
    .orderBy('subject')
    .orderBy('version')
    .execute();
  const bySubject = Map.groupBy(rows, ({ subject }) => subject);
  return new Map([...bySubject].map(([subject, some]) => [subject, some.map(({ version }) => version)]));
}
