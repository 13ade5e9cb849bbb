import { ECOSYSTEMS } from '@tidegate/protocol/scalars';
import { OPEN_STATES, UPDATE_STATES, type UpdateState } from '@tidegate/protocol/states';
import type { UpdateFilter } from '@tidegate/protocol/updates-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { hasTag, hostsTagged } from '../agents/filter-store.ts';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import type { Position } from '../platform/db/keyset.ts';
import { containing, globbing } from '../platform/db/like.ts';
import { fixesVulnerability, packagesFixing } from '../vulnerability-index/filter-store.ts';
import { bitOf, RECOMMENDED_HERE, recommendedBit } from './offer-rules.ts';
import { EPSS_ROOM, EXPLOITED_FIX, SEVERITIES_RISING } from './queue-rules.ts';
import { hasPlaces } from './scan-rules.ts';
import { SEVERITY_RANK, type UpdateOrder } from './sort-store.ts';
import { STOPPED_BY } from './stopped-rules.ts';

/** What holds keep back at this moment, as conditions on update `u`. */
export interface HeldUpdates {
  readonly isHeld: Condition;
  /** Whether its package is one of those that are on hold somewhere: the index of names finds these updates. */
  readonly isAmong: Condition;
}

/** A filter whose holds were looked up. */
export type UpdateListFilter = Omit<UpdateFilter, 'held'> & {
  readonly held?: (HeldUpdates & { readonly wanted: boolean }) | undefined;
};

/** The updates that a caller means: a filter, within the caller's scope. */
export interface UpdateSelection {
  filter: UpdateListFilter;
  scope: GroupScope;
}

type Condition = RawBuilder<SqlBool>;
type Flag = NonNullable<UpdateFilter['blocked']>;

/** Tables and conditions of a query; `u` is the update, `a` its host if that is joined. */
export interface Source {
  readonly from: RawBuilder<unknown>;
  readonly where: readonly Condition[];
  readonly isJoined: boolean;
  /** Host ids, named `meant` in `where`: the statement finds them once, however often it uses them. */
  readonly meant?: RawBuilder<unknown>;
}

/** Lists omit the updates of deleted hosts; the database keeps this flag in each row. */
const IS_THERE = sql<SqlBool>`u.gone = 0`;
const IS_AMONG = sql<SqlBool>`u.agent_id || '' IN (SELECT id FROM meant)`;
const IS_OF_HOST = sql<SqlBool>`u.agent_id = a.id AND a.deleted_at IS NULL AND ${IS_THERE}`;

/**
 * The rows of a selection in no order, found from the smallest set: from the hosts, from the names of
 * packages, or from the columns of the updates themselves, which share one index.
 */
export function found(selection: UpdateSelection): Source {
  const { filter } = selection;
  const ofHost = hostConditions(selection);
  if (ofHost.length > 0) {
    // CROSS: SQLite starts with the first table, here the smaller one of hosts.
    return {
      from: sql`agents AS a CROSS JOIN updates AS u`,
      where: [
        IS_OF_HOST,
        ...ofHost,
        ...rowConditions(filter, { state: sql`u.state || ''` }),
        ...shown(filter),
      ],
      isJoined: true,
    };
  }
  const by = { ...(isNarrow(filter) && { state: sql`u.state || ''` }), blocked: sql`u.blocked` };
  const where = [...rowConditions(filter, by), ...everyState(filter), ...shown(filter), IS_THERE];
  return { from: sql`updates AS u`, where, isJoined: false };
}

/** Members whose own indexes find the rows. */
const NARROW = ['agent_id', 'name', 'q', 'cve'] as const;

/** An index that starts with the state finds times. */
function everyState(filter: UpdateListFilter): Condition[] {
  const isTimed = filter.since !== undefined || filter.until !== undefined;
  if (!isTimed || filter.state !== undefined || filter.open !== undefined) return [];
  return [isIn(sql`u.state`, UPDATE_STATES)];
}

/** The states that updates of a filter may have. */
export function statesOf({ state, open }: Pick<UpdateFilter, 'state' | 'open'>): readonly UpdateState[] {
  const isOpen = (one: UpdateState) => OPEN_STATES.some((other) => other === one);
  const states = state === undefined ? UPDATE_STATES : [state];
  return open === undefined ? states : states.filter((one) => isOpen(one) === isTrue(open));
}

function hasState(filter: UpdateListFilter, column: RawBuilder<unknown>): Condition {
  const states = statesOf(filter);
  return states.length === 0 ? sql<SqlBool>`1 = 0` : isIn(column, states);
}

function isIn(column: RawBuilder<unknown>, values: readonly string[]): Condition {
  return sql<SqlBool>`${column} IN (${sql.join(values.map((value) => sql.lit(value)))})`;
}

/**
 * The rows of a selection in the order of an index. All other conditions are checked row by row, so only the
 * order may look as if an index could find it.
 */
export function walked(
  { filter, scope }: UpdateSelection,
  { order, state, hosts }: { order: UpdateOrder; state: string; hosts: 'few' | 'many' },
): Source {
  const { state: _, open: __, ...rest } = filter;
  const checks = {
    ...CHECKS,
    ...(order.field === 'name' ? { name: sql`u.name` } : {}),
    ...(order.field === 'discovered_at' ? { discovered: sql`u.discovered_at` } : {}),
  };
  const selection = { filter, scope };
  const meant = hosts === 'few' ? meantHosts(besideSystem(selection)) : null;
  return {
    from: sql`updates AS u`,
    where: [
      sql<SqlBool>`u.state = ${state}`,
      ...rowConditions(rest, checks),
      ...shown({ ...filter, state }),
      ...pins(filter, order),
      ...(meant === null ? [hostIs(selection)] : [ofSystem(selection), IS_AMONG]),
    ],
    isJoined: false,
    ...(meant === null ? {} : { meant }),
  };
}

/** The rows of a selection from the covering index of packages; `table` has the names. */
export function scannedByPackage(selection: UpdateSelection): Source & { readonly table: 'n' | 'u' } {
  const { q, ...filter } = selection.filter;
  const byName = { ...PASSED, ecosystem: sql`u.ecosystem`, name: sql`u.name` };
  const where = [...rowConditions(filter, byName), hostAmong(selection)];
  if (q !== undefined) {
    const isNamed = sql<SqlBool>`u.ecosystem = n.ecosystem AND u.name = n.name AND ${nameIsLike(containing(q), 'n')}`;
    // CROSS: the found names come first, in the order of their table.
    const from = sql`update_names AS n CROSS JOIN updates AS u`;
    return { from, where: [isNamed, ...where], isJoined: false, table: 'n' };
  }
  if (meantHosts(besideSystem(selection)) !== null)
    return { from: sql`updates AS u`, where, isJoined: false, table: 'u' };
  // Ordered, with an unbounded limit: otherwise PostgreSQL would read whole rows instead of the index.
  const rows = sql`SELECT u.ecosystem, u.name, u.agent_id, u.discovered_at, u.severity, u.state, u.fix_rank FROM updates AS u
    WHERE ${and(where)} ORDER BY u.ecosystem, u.name, u.agent_id LIMIT ${sql.lit(Number.MAX_SAFE_INTEGER)}`;
  return { from: sql`(${rows}) AS u`, where: [], isJoined: false, table: 'u' };
}

/** The pending rows of a selection from their covering index, host after host. */
export function scannedByHost({ filter, scope }: UpdateSelection): Source {
  const pending = { ...filter, state: 'pending' as const };
  const where = [...rowConditions(pending, PASSED), hostAmong({ filter: pending, scope }), ...shown(pending)];
  return { from: sql`updates AS u`, where, isJoined: false };
}

/** Whether an index finds the rows by a member of the filter. */
export function isNarrow(filter: UpdateListFilter): boolean {
  return (
    NARROW.some((member) => filter[member] !== undefined) ||
    isTrue(filter.blocked) ||
    filter.held?.wanted === true
  );
}

/** Conditions on the updates of a package, which are found by its name. */
export function ofPackage(selection: UpdateSelection): Condition[] {
  const { name: _, ecosystem: __, q: ___, ...filter } = selection.filter;
  return [...rowConditions(filter, PASSED), hostAmong(selection)];
}

/** Whether the filter has only the name of the package. */
export function isOfPackagesAlone(selection: UpdateSelection): boolean {
  const { name: _, ecosystem: __, q: ___, ...filter } = selection.filter;
  return Object.values(filter).every((value) => value === undefined) && selection.scope === null;
}

/**
 * The meant hosts, found once; null if any host matches. Those of a tag alone are not looked up: no update of a deleted host
 * is in a list anyway.
 */
function meantHosts(selection: UpdateSelection): RawBuilder<unknown> | null {
  const { tag, ...filter } = selection.filter;
  const host = hostConditions(selection);
  if (tag !== undefined && hostConditions({ ...selection, filter }).length === 0) return hostsTagged(tag);
  if (host.length === 0) return null;
  return sql`SELECT a.id FROM agents AS a WHERE ${and([sql<SqlBool>`a.deleted_at IS NULL`, ...host])}`;
}

/** Whether at most so many hosts are meant; false if any host matches. */
export async function areFewHosts(db: Db, selection: UpdateSelection, most: number): Promise<boolean> {
  const hosts = meantHosts(selection);
  if (hosts === null) return false;
  const { rows } = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (${hosts} LIMIT ${sql.lit(most + 1)}) AS counted`.execute(db);
  return Number(rows[0]?.total) <= most;
}

/** MATERIALIZED: PostgreSQL would otherwise read the host of each update again. */
export function asMeant(hosts: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`WITH meant AS MATERIALIZED (${hosts})`;
}

function hostAmong(selection: UpdateSelection): Condition {
  const hosts = meantHosts(besideSystem(selection));
  if (hosts === null) return ofSystem(selection);
  return sql<SqlBool>`${ofSystem(selection)} AND u.agent_id || '' IN (${asMeant(hosts)} SELECT id FROM meant)`;
}

/** Reads the host of an update, row by row. */
function hostIs(selection: UpdateSelection): Condition {
  const host = hostConditions(besideSystem(selection), { hosts: 'many' });
  if (host.length === 0) return ofSystem(selection);
  const isSuch = and([sql<SqlBool>`a.id = u.agent_id || '' AND a.deleted_at IS NULL`, ...host]);
  return sql<SqlBool>`${ofSystem(selection)} AND EXISTS (SELECT 1 FROM agents AS a WHERE ${isSuch})`;
}

/** The row of an update has the system of its host. */
function ofSystem({ filter: { os } }: UpdateSelection): Condition {
  return os === undefined ? IS_THERE : sql<SqlBool>`${IS_THERE} AND u.host_os_id = ${os}`;
}

/** The other conditions on hosts. */
function besideSystem({ filter: { os: _, ...filter }, scope }: UpdateSelection): UpdateSelection {
  return { filter, scope };
}

/** The same by host name: the hosts in order, and the updates of each. */
export function walkedByHost(
  selection: UpdateSelection,
  { order, after }: { order: UpdateOrder; after: Position | null },
): Source {
  const start = after && sql<SqlBool>`a.hostname ${order.descending ? sql`<=` : sql`>=`} ${after.key[0]}`;
  const { ecosystem, name, named } = CHECKS;
  const checks = { state: sql`u.state || ''`, ecosystem, name, named, discovered: sql`u.discovered_at + 0` };
  return {
    from: sql`agents AS a CROSS JOIN updates AS u`,
    where: [
      IS_OF_HOST,
      ...hostConditions(selection, { os: sql`a.os_id || ''`, group: sql`a.group_name || ''`, hosts: 'many' }),
      ...rowConditions(selection.filter, checks),
      ...shown(selection.filter),
      ...(start === null ? [] : [start]),
    ],
    isJoined: true,
  };
}

/**
 * Of several versions that wait for one package a list has the recommended one, unless the filter says otherwise.
 * Packages count all of them.
 */
function shown(filter: Omit<UpdateListFilter, 'state'> & { state?: string | undefined }): Condition[] {
  const { state, alternatives, offer, max_change: maxChange } = filter;
  if (maxChange !== undefined || offer !== undefined) return [];
  if (isTrue(alternatives)) return [];
  const isRecommended = sql<SqlBool>`(u.recommended & ${sql.lit(RECOMMENDED_HERE)}) <> 0`;
  if (state === undefined) return [sql<SqlBool>`(u.state || '' <> 'pending' OR ${isRecommended})`];
  return state === 'pending' ? [isRecommended] : [];
}

interface Columns {
  readonly state?: RawBuilder<unknown> | undefined;
  readonly ecosystem?: RawBuilder<unknown> | undefined;
  readonly name?: RawBuilder<unknown> | undefined;
  readonly agent?: RawBuilder<unknown> | undefined;
  readonly discovered?: RawBuilder<unknown> | undefined;
  readonly named?: ((part: string) => Condition) | undefined;
  readonly blocked?: RawBuilder<unknown> | undefined;
}

function nameIsLike(part: string, table = 'u'): Condition {
  return sql<SqlBool>`lower(${sql.ref(`${table}.name`)}) LIKE ${part} ESCAPE '\\'`;
}

/** Columns in a form that no index matches. */
const CHECKS: Columns = {
  ecosystem: sql`u.ecosystem || ''`,
  name: sql`u.name || ''`,
  agent: sql`u.agent_id || ''`,
  discovered: sql`u.discovered_at + 0`,
  named: (part) => nameIsLike(part),
};
const PASSED: Columns = { ...CHECKS, state: sql`u.state || ''` };

function rowConditions(filter: UpdateListFilter, columns: Columns): Condition[] {
  const { state = sql`u.state`, ecosystem = sql`u.ecosystem`, name = sql`u.name` } = columns;
  const { agent = sql`u.agent_id`, discovered = sql`u.discovered_at`, named = amongNames } = columns;
  const { blocked = sql`u.blocked + 0` } = columns;
  const { cve: fixing } = filter;
  const all: (Condition | false)[] = [
    filter.state !== undefined && sql<SqlBool>`${state} = ${filter.state}`,
    filter.open !== undefined && hasState(filter, state),
    filter.ecosystem !== undefined && sql<SqlBool>`${ecosystem} = ${filter.ecosystem}`,
    filter.name !== undefined && sql<SqlBool>`${name} = ${filter.name}`,
    // The index of names starts with the ecosystem.
    filter.name !== undefined && filter.ecosystem === undefined && inEveryEcosystem(ecosystem),
    filter.q !== undefined && named(containing(filter.q)),
    filter.agent_id !== undefined && sql<SqlBool>`${agent} = ${filter.agent_id}`,
    filter.severity !== undefined && sql<SqlBool>`u.severity = ${filter.severity}`,
    filter.verdict !== undefined && isJudged(filter.verdict),
    filter.stopped_under !== undefined && isIn(sql`u.stopped_under`, STOPPED_BY[filter.stopped_under]),
    filter.blocked !== undefined &&
      (isTrue(filter.blocked) ? sql<SqlBool>`${blocked} = 1` : sql<SqlBool>`u.blocked = 0`),
    filter.security !== undefined && sql<SqlBool>`u.security = ${truth(filter.security)}`,
    filter.exploited !== undefined && sql<SqlBool>`u.known_exploited = ${truth(filter.exploited)}`,
    fixing !== undefined && fixesVulnerability(fixing),
    fixing !== undefined && columns.name === undefined && amongFixed(fixing),
    filter.fixes_severity !== undefined && sql<SqlBool>`u.fixes_severity = ${filter.fixes_severity}`,
    filter.fixes_exploited !== undefined &&
      sql<SqlBool>`u.fixes_exploited = ${truth(filter.fixes_exploited)}`,
    ...heldConditions(filter.held, columns),
    ...PARTS.map((part) => isPart(part, filter[part])),
    filter.offer !== undefined && sql<SqlBool>`(u.offers & ${sql.lit(bitOf(filter.offer))}) <> 0`,
    filter.offer !== undefined && isIn(ecosystem, OFFERING),
    filter.max_change !== undefined &&
      sql<SqlBool>`(u.recommended & ${sql.lit(recommendedBit(filter.max_change))}) <> 0`,
    filter.since !== undefined && sql<SqlBool>`${discovered} >= ${Date.parse(filter.since)}`,
    filter.until !== undefined && sql<SqlBool>`${discovered} < ${Date.parse(filter.until)}`,
  ];
  return all.filter((condition) => condition !== false);
}

function heldConditions(held: UpdateListFilter['held'], { name }: Columns): (Condition | false)[] {
  if (held === undefined) return [];
  if (!held.wanted) return [sql<SqlBool>`NOT (${held.isHeld})`];
  return [held.isHeld, name === undefined && held.isAmong];
}

function isJudged(verdict: NonNullable<UpdateFilter['verdict']>): Condition {
  return verdict === 'not_judged' ? sql<SqlBool>`u.verdict IS NULL` : sql<SqlBool>`u.verdict = ${verdict}`;
}

/** Ecosystems whose updates say why they are offered, which every index of lists has, unlike the offers. */
const OFFERING = ECOSYSTEMS.filter(hasPlaces);

const PARTS = ['introduces', 'stays', 'fixes'] as const;

/** Whether a part of the verdict has vulnerabilities; what is not known is neither. */
function isPart(part: (typeof PARTS)[number], wanted: UpdateFilter[typeof part]): Condition | false {
  if (wanted === undefined) return false;
  const count = sql.ref(`u.${part}`);
  return truth(wanted) === 1 ? sql<SqlBool>`${count} > 0` : sql<SqlBool>`${count} = 0`;
}

function inEveryEcosystem(column: RawBuilder<unknown>): Condition {
  return isIn(column, ECOSYSTEMS);
}

/** A separate table has the distinct names, far fewer than the updates. */
function amongNames(part: string): Condition {
  return sql<SqlBool>`(u.ecosystem, u.name) IN
    (SELECT n.ecosystem, n.name FROM update_names AS n WHERE lower(n.name) LIKE ${part} ESCAPE '\\')`;
}

function amongFixed(vulnerability: string): Condition {
  return sql<SqlBool>`(u.ecosystem, u.name) IN (${packagesFixing(vulnerability)})`;
}

interface HostColumns {
  readonly os?: RawBuilder<unknown>;
  readonly group?: RawBuilder<unknown>;
  /** Whether tags are looked up for each host in turn, or the hosts by their tag. */
  readonly hosts?: 'few' | 'many';
}

export function hostConditions(
  { filter, scope }: UpdateSelection,
  { os = sql`a.os_id`, group = sql`a.group_name`, hosts = 'few' }: HostColumns = {},
): Condition[] {
  const all: (Condition | false)[] = [
    scope !== null && groupInScope(scope, 'a.group_name'),
    filter.group !== undefined && sql<SqlBool>`${group} = ${filter.group}`,
    filter.tag !== undefined && hasTag(filter.tag, hosts),
    filter.os !== undefined && sql<SqlBool>`${os} = ${filter.os}`,
    filter.host !== undefined && globbing(sql`a.hostname`, filter.host),
  ];
  return all.filter((condition) => condition !== false);
}

/** Conditions on the sort key: if they allow one range of the order, the rest is not walked. */
function pins(filter: UpdateListFilter, { field }: UpdateOrder): Condition[] {
  if (field === 'severity' && filter.severity !== undefined) {
    return [sql<SqlBool>`${sql.raw(SEVERITY_RANK)} = ${1 + SEVERITIES_RISING.indexOf(filter.severity)}`];
  }
  if (field === 'exploited' && filter.exploited !== undefined) {
    const sign = truth(filter.exploited) === 1 ? sql`>=` : sql`<`;
    return [sql<SqlBool>`u.queue_rank ${sign} ${EPSS_ROOM}`];
  }
  if (field === 'urgency' && filter.fixes_exploited !== undefined) {
    const sign = truth(filter.fixes_exploited) === 1 ? sql`>=` : sql`<`;
    return [sql<SqlBool>`u.fix_rank ${sign} ${EXPLOITED_FIX}`];
  }
  if (field === 'urgency' && filter.fixes !== undefined) {
    return [truth(filter.fixes) === 1 ? sql<SqlBool>`u.fix_rank > 0` : sql<SqlBool>`u.fix_rank = 0`];
  }
  return [];
}

export function and(conditions: readonly Condition[]): Condition {
  return sql<SqlBool>`${sql.join(conditions.length > 0 ? conditions : [sql`1 = 1`], sql` AND `)}`;
}

function truth(value: Flag): number {
  return isTrue(value) ? 1 : 0;
}

export function isTrue(value: Flag | undefined): boolean {
  return value === true || value === 'true';
}
