import type { HostStatus } from '@tidegate/protocol/agents-api';
import { LOOK_MAX_AGE_MS, type ProbesState } from '@tidegate/protocol/probes';
import type { RestartNeed } from '@tidegate/protocol/restarts';
import { isReported, partsOfTag } from '@tidegate/protocol/tags-api';
import {
  CLOCK_DOUBT_MS,
  type ClockState,
  LISTS_MAX_AGE_MS,
  type ListsState,
} from '@tidegate/protocol/timeliness';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { hasInstalled, type InstalledPackages } from '../installed/find-store.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { containing } from '../platform/db/like.ts';
import { hasVulnerable, type Vulnerable } from '../vulnerability-index/filter-store.ts';
import { PATIENCE_MS } from './patience-store.ts';
import { TIMELINESS_KNOWN_MS } from './timeliness-store.ts';

export interface AgentListFilter {
  /** Part of a host name or machine id in any case, or a prefix of an agent id. */
  q?: string | undefined;
  status?: HostStatus | undefined;
  os?: string | undefined;
  ecosystem?: string | undefined;
  agentVersion?: string | undefined;
  online?: boolean | undefined;
  cloneSuspected?: boolean | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  servicesRestart?: RestartNeed | undefined;
  reboot?: RestartNeed | undefined;
  probes?: ProbesState | undefined;
  lists?: ListsState | undefined;
  clock?: ClockState | undefined;
  vulnerable?: Vulnerable | undefined;
  installed?: InstalledPackages | undefined;
  upToDate?: UpToDate | undefined;
}

/** Whether hosts are meant that are up to date, or those that are not. */
export interface UpToDate {
  readonly wanted: boolean;
  readonly is: (matches: Matches) => Condition;
}

/** The selected hosts: a filter, within the caller's scope. */
export interface AgentSelection {
  readonly filter: AgentListFilter;
  readonly scope: GroupScope;
  readonly nowMs: number;
}

type Condition = RawBuilder<SqlBool>;

/** `a`: the host; `p`: its presence; `k`: its open clone suspicion. `p` and `k` may be missing. */
export const HOSTS = sql`agents AS a LEFT JOIN agent_presence AS p ON p.agent_id = a.id
  LEFT JOIN clone_suspicions AS k ON k.agent_id = a.id AND k.closed_at IS NULL`;

const IS_ACTIVE = sql<SqlBool>`a.status = 'active'`;
const IS_UNBOUND = sql<SqlBool>`a.status = 'active' AND a.machine_id IS NULL`;
const WAS_NEVER_SEEN = sql<SqlBool>`a.status = 'active' AND p.last_seen_at IS NULL`;
const IS_CLONE = sql<SqlBool>`k.since IS NOT NULL`;

/** Whether more hosts are known to match than are counted. */
export type Matches = 'few' | 'many';

export function agentConditions(
  { filter, scope, nowMs }: AgentSelection,
  matches: Matches = 'few',
): Condition[] {
  const {
    q,
    status,
    os,
    ecosystem,
    agentVersion,
    online,
    cloneSuspected,
    group,
    tag,
    servicesRestart,
    reboot,
    probes,
    lists,
    clock,
    vulnerable,
    installed,
    upToDate,
  } = filter;
  const all: (Condition | false)[] = [
    sql<SqlBool>`a.deleted_at IS NULL`,
    scope !== null && groupInScope(scope, 'a.group_name'),
    group !== undefined && sql<SqlBool>`a.group_name = ${group}`,
    tag !== undefined && hasTag(tag, matches),
    q !== undefined && isFoundBy(q),
    status !== undefined && hasStatus(status, nowMs),
    os !== undefined && sql<SqlBool>`a.os_id = ${os}`,
    agentVersion !== undefined && sql<SqlBool>`a.agent_version = ${agentVersion}`,
    ecosystem !== undefined &&
      sql<SqlBool>`EXISTS (SELECT 1 FROM inventory_reports AS r WHERE r.agent_id = a.id AND r.ecosystem = ${ecosystem})`,
    online === true && isOnline(nowMs),
    online === false && sql<SqlBool>`NOT (${isOnline(nowMs)})`,
    cloneSuspected === true && IS_CLONE,
    cloneSuspected === false && sql<SqlBool>`k.since IS NULL`,
    servicesRestart !== undefined && hasNeed('services', servicesRestart, matches),
    reboot !== undefined && hasNeed('reboot', reboot, matches),
    probes !== undefined && hasProbes(probes, { matches, nowMs }),
    lists !== undefined && hasTimeliness('lists', lists, { matches, nowMs }),
    clock !== undefined && hasTimeliness('clock', clock, { matches, nowMs }),
    vulnerable !== undefined && hasVulnerable(vulnerable, matches),
    installed !== undefined && hasInstalled(installed, { matches }),
    upToDate !== undefined && isUpToDate(upToDate, matches),
  ];
  return all.filter((condition) => condition !== false);
}

/** A revoked host is neither: nobody updates it. */
function isUpToDate({ wanted, is }: UpToDate, matches: Matches): Condition {
  return wanted ? is(matches) : sql<SqlBool>`${IS_ACTIVE} AND NOT (${is('many')})`;
}

/**
 * A host without a report of its present boot is unknown. SQLite reads a few hosts fastest from the reports of one
 * need; of many it finds a page fastest by probing the hosts in the order of the list.
 */
function hasNeed(of: 'services' | 'reboot', need: RestartNeed, matches: Matches): Condition {
  const column = sql.ref(`s.${of}`);
  const ofHost = sql`SELECT 1 FROM agent_restarts AS s WHERE s.agent_id = a.id`;
  if (need === 'unknown') {
    return sql<SqlBool>`NOT EXISTS (${ofHost} AND ${column} IN ('needed', 'not_needed'))`;
  }
  return matches === 'many'
    ? sql<SqlBool>`EXISTS (${ofHost} AND ${column} = ${need})`
    : sql<SqlBool>`a.id IN (SELECT s.agent_id FROM agent_restarts AS s WHERE ${column} = ${need})`;
}

/** A host that has not reported its probes is unknown, and so is one that was not red when it last did, too long ago. */
function hasProbes(state: ProbesState, { matches, nowMs }: { matches: Matches; nowMs: number }): Condition {
  const counts = sql<SqlBool>`(b.state = 'red' OR b.looked_at >= ${nowMs - LOOK_MAX_AGE_MS})`;
  const ofHost = sql`SELECT 1 FROM agent_probes AS b WHERE b.agent_id = a.id AND ${counts}`;
  if (state === 'unknown') return sql<SqlBool>`NOT EXISTS (${ofHost} AND b.state <> 'unknown')`;
  return matches === 'many'
    ? sql<SqlBool>`EXISTS (${ofHost} AND b.state = ${state})`
    : sql<SqlBool>`a.id IN (SELECT b.agent_id FROM agent_probes AS b WHERE b.state = ${state} AND ${counts})`;
}

const OLDEST_SECONDS = sql.lit(LISTS_MAX_AGE_MS / 1_000);
/** What is said of both, as the faults of a host judge it. */
const SAID = {
  lists: {
    isKnown: sql<SqlBool>`t.oldest_list_seconds IS NOT NULL`,
    isBad: sql<SqlBool>`t.oldest_list_seconds > ${OLDEST_SECONDS}`,
    isGood: sql<SqlBool>`t.oldest_list_seconds <= ${OLDEST_SECONDS}`,
  },
  clock: {
    isKnown: sql<SqlBool>`1 = 1`,
    isBad: sql<SqlBool>`(t.ahead_ms > ${sql.lit(CLOCK_DOUBT_MS)} OR t.ahead_ms < ${sql.lit(-CLOCK_DOUBT_MS)})`,
    isGood: sql<SqlBool>`t.ahead_ms BETWEEN ${sql.lit(-CLOCK_DOUBT_MS)} AND ${sql.lit(CLOCK_DOUBT_MS)}`,
  },
} as const;

/** A revoked host is none of them: nobody mends it. */
function hasTimeliness(
  of: 'lists' | 'clock',
  state: ListsState | ClockState,
  { matches, nowMs }: { matches: Matches; nowMs: number },
): Condition {
  const { isKnown, isBad, isGood } = SAID[of];
  const isRecent = sql<SqlBool>`t.received_at >= ${nowMs - TIMELINESS_KNOWN_MS}`;
  const ofHost = sql`SELECT 1 FROM agent_timeliness AS t WHERE t.agent_id = a.id AND ${isRecent}`;
  switch (state) {
    case 'unknown':
      return sql<SqlBool>`${IS_ACTIVE} AND NOT EXISTS (${ofHost} AND ${isKnown})`;
    case 'current':
    case 'right':
      return sql<SqlBool>`${IS_ACTIVE} AND EXISTS (${ofHost} AND ${isGood})`;
    case 'stale':
    case 'wrong':
      return matches === 'many'
        ? sql<SqlBool>`${IS_ACTIVE} AND EXISTS (${ofHost} AND ${isBad})`
        : sql<SqlBool>`${IS_ACTIVE} AND a.id IN (SELECT t.agent_id FROM agent_timeliness AS t WHERE ${isBad} AND ${isRecent})`;
  }
}

/** Whether host `a` has a tag; of many hosts each is probed, of few the tag's index has them. */
export function hasTag(tag: string, matches: Matches = 'few'): Condition {
  if (matches === 'few') return sql<SqlBool>`a.id IN (${hostsTagged(tag)})`;
  const { table, key, value } = placeOfTag(tag);
  return sql<SqlBool>`EXISTS (SELECT 1 FROM ${table} AS t WHERE t.agent_id = a.id AND t.key = ${key} AND t.value || '' = ${value})`;
}

/** The ids of the hosts with a tag, deleted ones among them. */
export function hostsTagged(tag: string): RawBuilder<unknown> {
  const { table, key, value } = placeOfTag(tag);
  return sql`SELECT t.agent_id AS id FROM ${table} AS t WHERE t.key = ${key} AND t.value = ${value}`;
}

function placeOfTag(tag: string) {
  return { ...partsOfTag(tag), table: sql.table(isReported(tag) ? 'host_reported_tags' : 'host_tags') };
}

function isFoundBy(q: string): Condition {
  const part = containing(q);
  const id = q.toLowerCase();
  return sql<SqlBool>`(lower(a.hostname) LIKE ${part} ESCAPE '\\' OR lower(a.machine_id) LIKE ${part} ESCAPE '\\'
    OR substr(a.id, 1, ${id.length}) = ${id})`;
}

/** The same rule as `isOnline` for one host. Never NULL: a host that was never seen is not online. */
function isOnline(nowMs: number): Condition {
  return sql<SqlBool>`a.status = 'active' AND COALESCE(p.last_seen_at, 0) > ${sql.lit(nowMs)} - ${PATIENCE_MS}
    AND p.last_seen_at IS NOT NULL`;
}

function hasStatus(status: HostStatus, nowMs: number): Condition {
  switch (status) {
    case 'online':
      return isOnline(nowMs);
    case 'offline':
      return sql<SqlBool>`a.status = 'active' AND p.last_seen_at IS NOT NULL AND NOT (${isOnline(nowMs)})`;
    case 'never':
      return WAS_NEVER_SEEN;
    case 'bound':
      return sql<SqlBool>`a.status = 'active' AND a.machine_id IS NOT NULL`;
    case 'unbound':
      return IS_UNBOUND;
    case 'revoked':
      return sql<SqlBool>`a.status = 'revoked'`;
    case 'clone_suspected':
      return IS_CLONE;
    case 'needs_attention':
      return sql<SqlBool>`${IS_ACTIVE} AND (a.machine_id IS NULL OR k.since IS NOT NULL OR NOT (${isOnline(nowMs)}))`;
  }
}

/** Sort rank of a status: unbound, never seen, offline, online, revoked. */
export function statusRank(nowMs: number): RawBuilder<unknown> {
  return sql`CASE WHEN a.status = 'revoked' THEN 5 WHEN ${IS_UNBOUND} THEN 1 WHEN ${WAS_NEVER_SEEN} THEN 2
    WHEN ${isOnline(nowMs)} THEN 4 ELSE 3 END`;
}
