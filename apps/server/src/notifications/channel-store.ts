import type { Selectable } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { waitIsOver } from '../platform/db/wait-is-over.ts';
import { LONGEST_WAIT_MS } from './back-off-rules.ts';
import { LEASE_MS } from './delivery-store.ts';

export type ChannelRow = Selectable<Tables['notification_channels']>;
/** How it went at a channel last. */
export type ChannelHealth = Pick<ChannelRow, 'failures' | 'paused_until' | 'last_attempt'>;

export async function insertChannel(tx: Tx, row: ChannelRow): Promise<void> {
  await tx.insertInto('notification_channels').values(row).execute();
}

export async function updateChannel(
  tx: Tx,
  id: string,
  change: Omit<ChannelRow, 'id' | 'created_by' | 'created_at'>,
): Promise<void> {
  await tx.updateTable('notification_channels').set(change).where('id', '=', id).execute();
}

export async function setHealth(tx: Tx, id: string, health: ChannelHealth): Promise<void> {
  await tx.updateTable('notification_channels').set(health).where('id', '=', id).execute();
}

/** With everything that was sent, or waits to be. No rule may use it any more. */
export async function deleteChannel(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('notification_deliveries').where('channel_id', '=', id).execute();
  await tx.deleteFrom('notification_channels').where('id', '=', id).execute();
}

export async function findChannel(db: Db, id: string): Promise<ChannelRow | null> {
  const query = db.selectFrom('notification_channels').selectAll().where('id', '=', id);
  return (await query.executeTakeFirst()) ?? null;
}

/** The same, locked until the transaction ends: changes of one channel queue. */
export async function lockChannel(tx: Tx, id: string): Promise<ChannelRow | null> {
  const locked = await tx
    .updateTable('notification_channels')
    .set((e) => ({ failures: e.ref('failures') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return locked ?? null;
}

/** All of them, by name. */
export async function listChannels(db: Db): Promise<ChannelRow[]> {
  return db.selectFrom('notification_channels').selectAll().orderBy('name').execute();
}

/** Another channel that has the name. */
export async function channelNamed(db: Db, of: { name: string; but: string | null }): Promise<boolean> {
  let query = db.selectFrom('notification_channels').select('id').where('name', '=', of.name);
  if (of.but !== null) query = query.where('id', '!=', of.but);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Switched on, not paused, and with a delivery that is due. */
export async function dueChannels(db: Db, nowMs: number): Promise<string[]> {
  const longest = { nowMs, longestMs: LONGEST_WAIT_MS };
  const rows = await db
    .selectFrom('notification_channels as c')
    .select('c.id')
    .where('c.is_enabled', '=', 1)
    .where(waitIsOver('c.paused_until', longest))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('notification_deliveries as d')
          .select('d.id')
          .whereRef('d.channel_id', '=', 'c.id')
          .where('d.state', '=', 'waiting')
          .where(waitIsOver('d.next_attempt_at', longest))
          .where(waitIsOver('d.leased_until', { nowMs, longestMs: LEASE_MS })),
      ),
    )
    .execute();
  return rows.map(({ id }) => id);
}

/** Rules, waiting deliveries and dead letters of each channel. */
export async function countsOfChannels(
  db: Db,
): Promise<Map<string, { rules: number; waiting: number; dead: number }>> {
  const rules = await db
    .selectFrom('notification_rules')
    .select(({ fn }) => ['channel_id', fn.countAll<number>().as('total')])
    .groupBy('channel_id')
    .execute();
  const deliveries = await db
    .selectFrom('notification_deliveries')
    .select(({ fn }) => ['channel_id', 'state', fn.countAll<number>().as('total')])
    .where('state', 'in', ['waiting', 'dead'])
    .groupBy(['channel_id', 'state'])
    .execute();
  const counts = new Map<string, { rules: number; waiting: number; dead: number }>();
  const of = (id: string) => {
    const known = counts.get(id) ?? { rules: 0, waiting: 0, dead: 0 };
    counts.set(id, known);
    return known;
  };
  for (const { channel_id: id, total } of rules) of(id).rules = Number(total);
  for (const { channel_id: id, state, total } of deliveries) {
    of(id)[state === 'dead' ? 'dead' : 'waiting'] = Number(total);
  }
  return counts;
}
