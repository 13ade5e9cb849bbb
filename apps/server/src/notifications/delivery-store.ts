import { SEVERITIES } from '@tidegate/protocol/event-types';
import { ATTEMPTS_MAX } from '@tidegate/protocol/notifications-api';
import { nullable } from '@tidegate/protocol/scalars';
import { type Selectable, sql } from 'kysely';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { waitIsOver } from '../platform/db/wait-is-over.ts';
import { LONGEST_WAIT_MS } from './back-off-rules.ts';
import type { Message } from './channels/message.ts';

/** Longer than any sender takes: after it another server may try. */
export const LEASE_MS = 60_000;

export type DeliveryRow = Selectable<Tables['notification_deliveries']>;
export type AttemptRow = Selectable<Tables['notification_attempts']>;
/** With the name of its channel, and how its last attempt went. */
export type ListedDelivery = DeliveryRow & {
  readonly channel_name: string;
  readonly last: AttemptRow | null;
};

export interface DeliverySelection {
  readonly state?: DeliveryRow['state'] | undefined;
  readonly kind?: DeliveryRow['kind'] | undefined;
  readonly channel_id?: string | undefined;
  readonly rule_id?: string | undefined;
}

const StoredMessage = Type.Object({
  id: Type.String(),
  subject: Type.String(),
  severity: Type.Enum(SEVERITIES),
  at: Type.String(),
  summary: Type.String(),
  sections: Type.Array(
    Type.Object({
      title: Type.String(),
      items: Type.Array(Type.Object({ text: Type.String(), link: nullable(Type.String()) })),
    }),
  ),
  link: nullable(Type.String()),
  payload: Type.Record(Type.String(), Type.Unknown()),
});

export function messageOf({ message }: Pick<DeliveryRow, 'message'>): Message {
  return Value.Parse(StoredMessage, JSON.parse(message));
}

export async function insertDelivery(tx: Tx, row: DeliveryRow): Promise<void> {
  await tx.insertInto('notification_deliveries').values(row).execute();
}

export async function findDelivery(db: Db, id: string): Promise<DeliveryRow | null> {
  const query = db.selectFrom('notification_deliveries').selectAll().where('id', '=', id);
  return (await query.executeTakeFirst()) ?? null;
}

/** How many of a rule wait to be delivered. */
export async function countWaiting(db: Db, ruleId: string): Promise<number> {
  const row = await db
    .selectFrom('notification_deliveries')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('state', '=', 'waiting')
    .where('rule_id', '=', ruleId)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** The delivery of a channel that is due for the longest time. */
export async function nextDue(
  db: Db,
  { channelId, nowMs }: { channelId: string; nowMs: number },
): Promise<string | null> {
  const row = await db
    .selectFrom('notification_deliveries')
    .select('id')
    .where('state', '=', 'waiting')
    .where('channel_id', '=', channelId)
    .where(waitIsOver('next_attempt_at', { nowMs, longestMs: LONGEST_WAIT_MS }))
    .where(waitIsOver('leased_until', { nowMs, longestMs: LEASE_MS }))
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

/** Takes a delivery for one attempt; null if another server has, or it has ended. The attempt counts from now on. */
export async function leaseDelivery(
  tx: Tx,
  { id, nowMs, leaseMs }: { id: string; nowMs: number; leaseMs: number },
): Promise<DeliveryRow | null> {
  const row = await tx
    .updateTable('notification_deliveries')
    .set({ leased_until: nowMs + leaseMs, attempts: sql<number>`attempts + 1` })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .where(waitIsOver('leased_until', { nowMs, longestMs: LEASE_MS }))
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

export async function insertAttempt(tx: Tx, row: AttemptRow): Promise<void> {
  await tx
    .insertInto('notification_attempts')
    .values(row)
    .onConflict((conflict) => conflict.columns(['delivery_id', 'number']).doUpdateSet(row))
    .execute();
}

export async function settleDelivery(
  tx: Tx,
  id: string,
  change: Pick<DeliveryRow, 'state' | 'next_attempt_at' | 'ended_at'> & { message?: string },
): Promise<void> {
  await tx
    .updateTable('notification_deliveries')
    .set({ ...change, leased_until: 0 })
    .where('id', '=', id)
    .execute();
}

/** Dead letters wait again, with as many attempts as a new message. */
export async function reviveDeliveries(
  tx: Tx,
  which: { readonly ids: readonly string[] } | { readonly channelId: string },
  nowMs: number,
): Promise<number> {
  let query = tx
    .updateTable('notification_deliveries')
    .set({
      ...{ state: 'waiting', next_attempt_at: nowMs, leased_until: 0, ended_at: null },
      attempts_max: sql<number>`attempts + ${ATTEMPTS_MAX}`,
    })
    .where('state', '=', 'dead')
    .where('kind', '!=', 'test');
  query =
    'ids' in which ? query.where('id', 'in', which.ids) : query.where('channel_id', '=', which.channelId);
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

/** Attempts that a server which died had begun are due again: their receivers know a repeat by its id. */
export async function endLeases(tx: Tx): Promise<void> {
  await tx
    .updateTable('notification_deliveries')
    .set({ leased_until: 0 })
    .where('state', '=', 'waiting')
    .where('leased_until', '>', 0)
    .execute();
}

/** Newest first. */
export async function listDeliveries(
  db: Db,
  { selection, limit, before }: { selection: DeliverySelection; limit: number; before: string | null },
): Promise<ListedDelivery[]> {
  let query = selected(db, selection).orderBy('d.id', 'desc').limit(limit);
  if (before !== null) query = query.where('d.id', '<', before);
  return withLast(db, await query.execute());
}

export async function listedDelivery(db: Db, id: string): Promise<ListedDelivery | null> {
  return (await withLast(db, await selected(db, {}).where('d.id', '=', id).execute()))[0] ?? null;
}

export async function countDeliveries(db: Db, selection: DeliverySelection): Promise<number> {
  const row = await selected(db, selection)
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

export async function attemptsOf(db: Db, id: string): Promise<AttemptRow[]> {
  return db
    .selectFrom('notification_attempts')
    .selectAll()
    .where('delivery_id', '=', id)
    .orderBy('at')
    .orderBy('number')
    .execute();
}

/** Ends that are too old, or too many for their channel: at most `limit` of them are removed. */
export async function deleteEnded(
  tx: Tx,
  { beforeMs, keptOfChannel, limit }: { beforeMs: number; keptOfChannel: number; limit: number },
): Promise<number> {
  const old = await tx
    .selectFrom('notification_deliveries')
    .select('id')
    .where('ended_at', '<', beforeMs)
    .orderBy('ended_at')
    .limit(limit)
    .execute();
  const ids = old.map(({ id }) => id);
  const channels = await tx.selectFrom('notification_channels').select('id').execute();
  for (const { id: channelId } of channels) {
    const surplus = await tx
      .selectFrom('notification_deliveries')
      .select('id')
      .where('channel_id', '=', channelId)
      .where('state', 'in', ['delivered', 'dead'])
      .orderBy('id', 'desc')
      .offset(keptOfChannel)
      .limit(limit)
      .execute();
    ids.push(...surplus.map(({ id }) => id));
  }
  for (const some of chunks([...new Set(ids)])) {
    await tx.deleteFrom('notification_deliveries').where('id', 'in', some).execute();
  }
  return ids.length;
}

function selected(db: Db, { state, kind, channel_id: channelId, rule_id: ruleId }: DeliverySelection) {
  let query = db
    .selectFrom('notification_deliveries as d')
    .innerJoin('notification_channels as c', 'c.id', 'd.channel_id')
    .selectAll('d')
    .select('c.name as channel_name');
  if (state !== undefined) query = query.where('d.state', '=', state);
  if (kind !== undefined) query = query.where('d.kind', '=', kind);
  if (channelId !== undefined) query = query.where('d.channel_id', '=', channelId);
  if (ruleId !== undefined) query = query.where('d.rule_id', '=', ruleId);
  return query;
}

async function withLast<R extends DeliveryRow>(
  db: Db,
  rows: readonly R[],
): Promise<(R & { last: AttemptRow | null })[]> {
  if (rows.length === 0) return [];
  const attempts = await db
    .selectFrom('notification_attempts')
    .selectAll()
    .where(
      'delivery_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('at')
    .execute();
  const last = new Map(attempts.map((attempt) => [attempt.delivery_id, attempt]));
  return rows.map((row) => ({ ...row, last: last.get(row.id) ?? null }));
}
