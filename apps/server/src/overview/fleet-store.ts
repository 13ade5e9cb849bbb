import type { SecurityEventType, SystemEventType } from '@tidegate/protocol/event-types';
import { sql } from 'kysely';
import { type AgentListFilter, agentConditions, HOSTS } from '../agents/filter-store.ts';
import { PATIENCE_MS } from '../agents/patience-store.ts';
import { countRegistrationTokens } from '../enrolment/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import { agentInScope, type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { type LastBackupRow, readLastBackup } from '../restore/last-backup-store.ts';
import { isKeyDue } from '../signing-keys/due-rules.ts';
import { listKeys, readFleet } from '../signing-keys/store.ts';
import { IS_PENDING } from '../withheld/store.ts';

/** Hosts per statement. */
const STEP_HOSTS = 5_000;
/** Updates per statement that looks up stops. */
const STEP_BLOCKED = 2_000;

export interface HostCounts {
  readonly hosts: number;
  readonly bound: number;
  readonly unbound: number;
  readonly revoked: number;
  readonly online: number;
  /** Seen once, but not lately. */
  readonly offline: number;
  /** Seen in the last 24 hours. */
  readonly seen: number;
}
export const NO_HOSTS: HostCounts = {
  hosts: 0,
  bound: 0,
  unbound: 0,
  revoked: 0,
  online: 0,
  offline: 0,
  seen: 0,
};

/** Counts hosts in parts; the rules are those of the list of hosts. */
export async function* countHosts(
  db: Db,
  { nowMs, scope }: { nowMs: number; scope: GroupScope },
): AsyncGenerator<HostCounts> {
  const isOnline = sql`(s.status = 'active' AND ${sql.lit(nowMs)} - s.last_seen_at < s.patience_ms)`;
  const sum = (condition: ReturnType<typeof sql>) => sql`sum(CASE WHEN ${condition} THEN 1 ELSE 0 END)`;
  let after = '';
  for (;;) {
    const { rows } = await sql<{ last: string | null } & Record<keyof HostCounts, number | null>>`
      SELECT max(s.id) AS last, count(*) AS hosts,
        ${sum(sql`s.status = 'active' AND s.machine_id IS NOT NULL`)} AS bound,
        ${sum(sql`s.status = 'active' AND s.machine_id IS NULL`)} AS unbound,
        ${sum(sql`s.status = 'revoked'`)} AS revoked,
        ${sum(isOnline)} AS online,
        ${sum(sql`s.status = 'active' AND s.last_seen_at IS NOT NULL AND NOT ${isOnline}`)} AS offline,
        ${sum(sql`s.last_seen_at >= ${sql.lit(nowMs - 86_400_000)}`)} AS seen
      FROM (
        SELECT a.id, a.status, a.machine_id, ${PATIENCE_MS} AS patience_ms, p.last_seen_at
        FROM agents AS a LEFT JOIN agent_presence AS p ON p.agent_id = a.id
        WHERE a.id > ${after} AND a.deleted_at IS NULL AND ${groupInScope(scope, 'a.group_name')}
        ORDER BY a.id LIMIT ${sql.lit(STEP_HOSTS)}
      ) AS s`.execute(db);
    const [row] = rows;
    if (!row || row.last === null) return;
    after = row.last;
    yield mapped((name) => Number(row[name] ?? 0));
    if (Number(row.hosts) < STEP_HOSTS) return;
  }
}

function mapped(of: (name: keyof HostCounts) => number): HostCounts {
  return {
    hosts: of('hosts'),
    bound: of('bound'),
    unbound: of('unbound'),
    revoked: of('revoked'),
    online: of('online'),
    offline: of('offline'),
    seen: of('seen'),
  };
}

export function addHosts(a: HostCounts, b: HostCounts): HostCounts {
  return mapped((name) => a[name] + b[name]);
}

/** Pending updates that lists show and that the gate stopped, or returned; in parts. */
export async function* blockedUpdates(db: Db, scope: GroupScope): AsyncGenerator<number> {
  let after = '';
  for (;;) {
    const stopped = await db
      .selectFrom('updates')
      .select('id')
      // A literal: SQLite uses an index of some rows only where the statement itself says which.
      .where('blocked', '=', sql.lit(1))
      .where('id', '>', after)
      .orderBy('id')
      .limit(STEP_BLOCKED)
      .execute();
    const last = stopped.at(-1);
    if (!last) return;
    after = last.id;
    let query = db
      .selectFrom('updates as u')
      .innerJoin('agents as a', 'a.id', 'u.agent_id')
      .select((e) => e.fn.countAll<number>().as('total'))
      .where(
        'u.id',
        'in',
        stopped.map(({ id }) => id),
      )
      .where(IS_PENDING);
    if (scope !== null) query = query.where(groupInScope(scope, 'a.group_name'));
    yield Number((await query.executeTakeFirstOrThrow()).total);
    if (stopped.length < STEP_BLOCKED) return;
  }
}

export interface SmallCounts {
  /** Approvals whose command is due but was not delivered. */
  readonly undelivered: number;
  readonly clones: number;
  /** Hosts whose lists are old, and whose clock is wrong. */
  readonly listsStale: number;
  readonly clocksWrong: number;
  readonly divergences: number;
  readonly keysDue: number;
  readonly tokensEnding: number;
  readonly deadLetters: number;
}

export async function smallCounts(
  db: Db,
  { nowMs, scope }: { nowMs: number; scope: GroupScope },
): Promise<SmallCounts> {
  const keys = await listKeys(db);
  const { rows } = await sql<Record<'undelivered' | 'clones' | 'divergences' | 'deadLetters', number>>`SELECT
    (SELECT count(*) FROM agent_commands WHERE status = 'pending' AND ${anyIndexBut('action')} = 'install_update'
      AND not_before <= ${nowMs} AND ${agentInScope(scope, 'agent_id')}) AS undelivered,
    (SELECT count(*) FROM clone_suspicions AS k JOIN agents AS a ON a.id = k.agent_id
      WHERE k.closed_at IS NULL AND a.deleted_at IS NULL AND ${groupInScope(scope, 'a.group_name')}) AS clones,
    (SELECT count(*) FROM artifact_divergences WHERE state = 'open') AS divergences,
    (SELECT count(*) FROM notification_deliveries WHERE state = 'dead') AS ${sql.ref('deadLetters')}`.execute(
    db,
  );
  const [row] = rows;
  return {
    undelivered: Number(row?.undelivered ?? 0),
    clones: Number(row?.clones ?? 0),
    listsStale: await hostsThat({ lists: 'stale' }, { db, nowMs, scope }),
    clocksWrong: await hostsThat({ clock: 'wrong' }, { db, nowMs, scope }),
    divergences: Number(row?.divergences ?? 0),
    keysDue: keys.filter((key) => isKeyDue(key, nowMs)).length,
    tokensEnding: await countRegistrationTokens(db, { scope, endingAtMs: nowMs }),
    deadLetters: Number(row?.deadLetters ?? 0),
  };
}

/** How many hosts the list of hosts has under a filter. */
async function hostsThat(
  filter: AgentListFilter,
  { db, nowMs, scope }: { db: Db; nowMs: number; scope: GroupScope },
): Promise<number> {
  const conditions = agentConditions({ filter, scope, nowMs });
  const { rows } = await sql<{ total: number }>`SELECT count(*) AS total FROM ${HOSTS}
    WHERE ${sql.join(conditions, sql` AND `)}`.execute(db);
  return Number(rows[0]?.total);
}

type EventType = SecurityEventType | SystemEventType;

/** How many events of these types were written since; events without a host belong to no group. */
export async function countEventsSince(
  db: Db,
  { types, sinceMs, scope }: { types: readonly EventType[]; sinceMs: number; scope: GroupScope },
): Promise<ReadonlyMap<string, number>> {
  const first = await firstPositionSince(db, sinceMs);
  let query = db
    .selectFrom('events')
    .select((e) => ['type', e.fn.countAll<number>().as('total')])
    .where('type', 'in', types)
    .where('position', '>=', first);
  if (scope !== null) query = query.where(agentInScope(scope, 'agent_id'));
  const rows = await query.groupBy('type').execute();
  return new Map(rows.map(({ type, total }) => [type, Number(total)]));
}

/** Finds the position by bisection, because events are in the order of their times. */
async function firstPositionSince(db: Db, sinceMs: number): Promise<number> {
  const ends = await db
    .selectFrom('events')
    .select((e) => [e.fn.min('position').as('first'), e.fn.max('position').as('last')])
    .executeTakeFirstOrThrow();
  let low = Number(ends.first ?? 1);
  let high = Number(ends.last ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const event = await db
      .selectFrom('events')
      .select('created_at')
      .where('position', '=', middle)
      .executeTakeFirst();
    if (event && event.created_at >= sinceMs) high = middle;
    else low = middle + 1;
  }
  return low;
}

export interface ServiceFacts {
  readonly newestEventMs: number | null;
  readonly restoredMs: number | null;
  readonly isResyncOpen: boolean;
  readonly advisoriesAsOfMs: number | null;
  readonly stale: readonly { readonly ecosystem: string; readonly sinceMs: number }[];
  readonly lastBackup: LastBackupRow | null;
  readonly fleetCreatedAtMs: number;
}

export async function serviceFacts(db: Db, nowMs: number): Promise<ServiceFacts> {
  const newest = db.selectFrom('events').select('created_at').orderBy('position', 'desc').limit(1);
  const restored = await newest.where('type', '=', 'RESTORE_DETECTED').executeTakeFirst();
  const resync = await db
    .selectFrom('resyncs')
    .select('id')
    .where('closed_at', 'is', null)
    .where('closes_at', '>', nowMs)
    .limit(1)
    .executeTakeFirst();
  const mirror = await db
    .selectFrom('mirror_snapshots')
    .select((e) => e.fn.min('as_of').as('as_of'))
    .executeTakeFirst();
  const stale = await db.selectFrom('advisory_stretches').selectAll().orderBy('ecosystem').execute();
  return {
    newestEventMs: (await newest.executeTakeFirst())?.created_at ?? null,
    restoredMs: restored?.created_at ?? null,
    isResyncOpen: resync !== undefined,
    advisoriesAsOfMs: mirror?.as_of ?? null,
    stale: stale.map(({ ecosystem, since }) => ({ ecosystem, sinceMs: since })),
    lastBackup: await readLastBackup(db),
    fleetCreatedAtMs: (await readFleet(db))?.created_at ?? nowMs,
  };
}
