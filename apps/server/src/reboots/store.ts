import type { RebootKind, RebootState } from '@tidegate/protocol/reboots-api';
import { type Selectable, sql, type Updateable } from 'kysely';
import { activeHostsIn } from '../agents/host-scope.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';
import type { Tables } from '../platform/db/tables.ts';
import { isOnline, type SlotRow } from '../reboot-slots/store.ts';

export type RebootRow = Unsealed<'host_reboots'>;
export type HostedReboot = Selectable<Tables['host_reboots']> & {
  hostname: string;
  /** The boot of the last check-in. */
  host_boot: string | null;
  group_name: string | null;
  last_seen_at: number | null;
  polling_interval_seconds: number | null;
  status: 'active' | 'revoked';
  /** Of the slot that it has. */
  slot_state: SlotRow['state'] | null;
};
type Change = Updateable<Omit<Tables['host_reboots'], 'id' | 'seal'>>;

/** Queues hosts; one that is in the queue for this already is left out. Returns how many were added. */
export async function insertReboots(tx: Tx, rows: readonly RebootRow[]): Promise<number> {
  let added = 0;
  for (const some of chunks(rows)) {
    const inserted = await tx
      .insertInto('host_reboots')
      .values(some.map((row) => sealed(tx, 'host_reboots', row)))
      .onConflict((conflict) =>
        conflict.columns(['agent_id', 'kind']).where('ended_at', 'is', null).doNothing(),
      )
      .returning('id')
      .execute();
    added += inserted.length;
  }
  return added;
}

/** A host of a scope, with what it has reported of its need. */
export interface PossibleReboot {
  readonly agent_id: string;
  readonly hostname: string;
  readonly boot_id: string | null;
  readonly reported_boot: string | null;
  readonly report: string | null;
  readonly open_id: string | null;
}

/** Active hosts of a scope by name, with their reports; at most `limit`. */
export async function hostsToReboot(
  db: Db,
  { scope, kind, limit }: { scope: Parameters<typeof activeHostsIn>[1]; kind: RebootKind; limit: number },
): Promise<PossibleReboot[]> {
  return activeHostsIn(db, scope)
    .leftJoin('agent_restarts as s', 's.agent_id', 'a.id')
    .leftJoin('host_reboots as r', (join) =>
      join.onRef('r.agent_id', '=', 'a.id').on('r.kind', '=', kind).on('r.ended_at', 'is', null),
    )
    .select(['a.id as agent_id', 'a.hostname', 'a.boot_id', 's.boot_id as reported_boot', 's.report'])
    .select('r.id as open_id')
    .orderBy('a.hostname')
    .orderBy('a.id')
    .limit(limit)
    .execute();
}

/** Compare-and-swap: true if the row had not ended, had this command, and has changed. One that ends loses its seal. */
export async function changeReboot(
  tx: Tx,
  { id, command, change }: { id: string; command: string | null; change: Change },
): Promise<boolean> {
  const isOver = change.ended_at !== undefined && change.ended_at !== null;
  const update = tx
    .updateTable('host_reboots')
    .set(isOver ? { ...change, seal: null } : change)
    .where('id', '=', id)
    .where('ended_at', 'is', null);
  const { numUpdatedRows } = await (command === null
    ? update.where('command_id', 'is', null)
    : update.where('command_id', '=', command)
  ).executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function findReboot(db: Db, id: string): Promise<HostedReboot | null> {
  return (await hosted(db).where('r.id', '=', id).executeTakeFirst()) ?? null;
}

/** For the row that becomes a command: null unless its seal holds. */
export async function openReboot(
  db: Db,
  id: string,
): Promise<{ row: Opened<'host_reboots'> | null; isThere: boolean }> {
  const row = await db
    .selectFrom('host_reboots')
    .selectAll()
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .where('command_id', 'is', null)
    .executeTakeFirst();
  return { row: opened(db, 'host_reboots', row), isThere: row !== undefined };
}

export interface RebootFilter {
  state?: RebootState | undefined;
  agentId?: string | undefined;
  kind?: RebootKind | undefined;
}

/** Newest first; `after` is the last id of the previous page. */
export async function listReboots(
  db: Db,
  { filter, limit, after }: { filter: RebootFilter; limit: number; after: string | null },
): Promise<HostedReboot[]> {
  const query = filtered(hosted(db), filter);
  const page = after === null ? query : query.where('r.id', '<', after);
  return page.orderBy('r.id', 'desc').limit(limit).execute();
}

export async function countReboots(db: Db, filter: RebootFilter): Promise<number> {
  const row = await filtered(hosted(db), filter)
    .clearSelect()
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

function hosted(db: Db) {
  return db
    .selectFrom('host_reboots as r')
    .innerJoin('agents as a', 'a.id', 'r.agent_id')
    .leftJoin('agent_presence as p', 'p.agent_id', 'r.agent_id')
    .leftJoin('reboot_slots as s', (join) =>
      join.onRef('s.agent_id', '=', 'r.agent_id').on('s.ended_at', 'is', null),
    )
    .selectAll('r')
    .select(['a.hostname', 'a.boot_id as host_boot', 'a.group_name'])
    .select(['a.status', 'a.polling_interval_seconds', 'p.last_seen_at', 's.state as slot_state']);
}

function filtered(query: ReturnType<typeof hosted>, { state, agentId, kind }: RebootFilter) {
  let rows = query;
  if (state !== undefined) rows = rows.where('r.state', '=', state);
  if (agentId !== undefined) rows = rows.where('r.agent_id', '=', agentId);
  if (kind !== undefined) rows = rows.where('r.kind', '=', kind);
  return rows;
}

/** Rows whose host has a command, by id. */
export async function attemptsUnderWay(
  db: Db,
  { limit, after }: { limit: number; after: string },
): Promise<string[]> {
  const rows = await db
    .selectFrom('host_reboots')
    .select('id')
    .where('ended_at', 'is', null)
    .where('command_id', 'is not', null)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** A row that no host has a command of. */
export type WaitingReboot = Pick<RebootRow, 'id' | 'agent_id' | 'kind' | 'detail'>;

/**
 * Rows with times of a clock that was ahead: they were asked for after `aheadMs`, or are put off for longer than a host may ask
 * for; one that no host has answered, for longer than the server itself puts off.
 */
export async function rebootsAhead(
  db: Db,
  { aheadMs, retryMaxMs, limit }: { aheadMs: number; retryMaxMs: number; limit: number },
): Promise<(WaitingReboot & { asked_at: number })[]> {
  return db
    .selectFrom('host_reboots')
    .select(['id', 'agent_id', 'kind', 'detail', 'asked_at'])
    .where('ended_at', 'is', null)
    .where('command_id', 'is', null)
    .where((e) =>
      e.or([
        e('asked_at', '>', aheadMs),
        e('not_before', '>', aheadMs + retryMaxMs),
        e.and([e('not_before', '>', aheadMs), e('detail', 'is', null)]),
      ]),
    )
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Rows whose command was offered after a time. */
export async function offersAhead(
  db: Db,
  { aheadMs, limit }: { aheadMs: number; limit: number },
): Promise<Pick<RebootRow, 'id' | 'command_id'>[]> {
  return db
    .selectFrom('host_reboots')
    .select(['id', 'command_id'])
    .where('ended_at', 'is', null)
    .where('command_id', 'is not', null)
    .where('offered_at', '>', aheadMs)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Rows past their deadline that no host has a command of. */
export async function overdueReboots(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<WaitingReboot[]> {
  return db
    .selectFrom('host_reboots')
    .select(['id', 'agent_id', 'kind', 'detail'])
    .where('ended_at', 'is', null)
    .where('command_id', 'is', null)
    .where('deadline_at', '<=', nowMs)
    .orderBy('deadline_at')
    .limit(limit)
    .execute();
}

/** Reboots of each group that are due and wait for an offer, and those that are offered and have no slot yet. */
export async function groupsWaiting(
  db: Db,
  nowMs: number,
): Promise<{ group: string; waiting: number; offered: number }[]> {
  const group = sql<string>`coalesce(a.group_name, '')`;
  const rows = await db
    .selectFrom('host_reboots as r')
    .innerJoin('agents as a', 'a.id', 'r.agent_id')
    .leftJoin('agent_commands as c', 'c.id', 'r.command_id')
    .select(group.as('group'))
    .select(
      sql<number>`sum(CASE WHEN r.command_id IS NULL AND r.not_before <= ${nowMs} THEN 1 ELSE 0 END)`.as(
        'waiting',
      ),
    )
    .select(sql<number>`sum(CASE WHEN c.status = 'pending' THEN 1 ELSE 0 END)`.as('offered'))
    .where('r.ended_at', 'is', null)
    .where('r.kind', '=', 'reboot')
    .groupBy(group)
    .orderBy(group)
    .execute();
  return rows.map((row) => ({ ...row, waiting: Number(row.waiting), offered: Number(row.offered) }));
}

/** Hosts that are online and due, those first that have waited longest. A group of '' is no group; null is every one. */
export async function nextInLine(
  db: Db,
  asked: { kind: RebootKind; group: string | null; nowMs: number; limit: number },
): Promise<{ id: string; agent_id: string; group: string | null }[]> {
  const { kind, group, nowMs, limit } = asked;
  const query = db
    .selectFrom('host_reboots as r')
    .innerJoin('agents as a', 'a.id', 'r.agent_id')
    .innerJoin('agent_presence as p', 'p.agent_id', 'a.id')
    .select(['r.id', 'r.agent_id', 'a.group_name as group'])
    .where('r.ended_at', 'is', null)
    .where('r.command_id', 'is', null)
    .where('r.kind', '=', kind)
    .where('r.not_before', '<=', nowMs)
    .where('r.deadline_at', '>', nowMs)
    .where(isOnline(nowMs));
  const ofGroup =
    group === null
      ? query
      : query.where(
          group === '' ? sql<boolean>`a.group_name IS NULL` : sql<boolean>`a.group_name = ${group}`,
        );
  return ofGroup.orderBy('r.asked_at').orderBy('r.id').limit(limit).execute();
}

/** Hosts that have no command are asked at this time. */
export async function askAt(tx: Tx, { ids, timeMs }: { ids: readonly string[]; timeMs: number }) {
  for (const some of chunks(ids)) {
    await tx
      .updateTable('host_reboots')
      .set({ not_before: timeMs })
      .where('id', 'in', some)
      .where('command_id', 'is', null)
      .where('ended_at', 'is', null)
      .execute();
  }
}

/** Removes what ended before then, a part at a time. */
export async function removeEnded(tx: Tx, { beforeMs, limit }: { beforeMs: number; limit: number }) {
  for (const table of ['host_reboots', 'reboot_slots'] as const) {
    const old = tx
      .selectFrom(table)
      .select('id')
      .where('ended_at', '<', beforeMs)
      .orderBy('ended_at')
      .limit(limit);
    await tx.deleteFrom(table).where('id', 'in', old).execute();
  }
}
