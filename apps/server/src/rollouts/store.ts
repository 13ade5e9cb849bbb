import type { RolloutState } from '@tidegate/protocol/rollouts-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { RingOrder } from './proofs-store.ts';

export type RolloutRow = Tables['rollouts'];
export type RolloutHostRow = Tables['rollout_hosts'];
export type RolloutPackageRow = Tables['rollout_packages'];

export function orderOf({ policy_id, members_sha256 }: RolloutRow): RingOrder {
  return { policy_id, members_sha256 };
}

const Entered = Type.Array(Type.Integer(), { minItems: 1 });

/** When each ring was entered, in order. */
export function enteredOf({ entered }: Pick<RolloutRow, 'entered'>): number[] {
  return Value.Parse(Entered, JSON.parse(entered));
}

/** Inserts a rollout; false when its policy has one that has not ended, such as one that another server began. */
export async function insertRollout(tx: Tx, row: RolloutRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows: inserted } = await tx
    .insertInto('rollouts')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (inserted ?? 0n) > 0n;
}

export async function insertRolloutPackages(tx: Tx, rows: readonly RolloutPackageRow[]): Promise<void> {
  for (const some of chunks(rows)) await tx.insertInto('rollout_packages').values(some).execute();
}

/** Those that are there already stay as they are. */
export async function insertRolloutHosts(tx: Tx, rows: readonly RolloutHostRow[]): Promise<void> {
  for (const some of chunks(rows)) {
    await tx
      .insertInto('rollout_hosts')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

export async function findRollout(db: Db, id: string): Promise<RolloutRow | null> {
  return (await db.selectFrom('rollouts').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Those that have not ended, by id: at most one of each policy. */
export async function liveRollouts(db: Db): Promise<RolloutRow[]> {
  return db.selectFrom('rollouts').selectAll().where('ended_at', 'is', null).orderBy('id').execute();
}

/** Those that stand still or were cancelled, and of which something may still be undelivered. */
export async function unwithdrawnRollouts(db: Db): Promise<RolloutRow[]> {
  return db
    .selectFrom('rollouts')
    .selectAll()
    .where('state', 'in', ['halted', 'cancelled'])
    .where('withdrawn', '=', 0)
    .orderBy('id')
    .execute();
}

/** Newest first; `after` is the last id of the previous page. */
export async function listRollouts(
  db: Db,
  { limit, after, ...filter }: RolloutFilter & { limit: number; after: string | null },
): Promise<RolloutRow[]> {
  const query = filtered(db, filter).selectAll();
  const page = after === null ? query : query.where('id', '<', after);
  return page.orderBy('id', 'desc').limit(limit).execute();
}

export async function countRollouts(db: Db, filter: RolloutFilter): Promise<number> {
  const row = await filtered(db, filter)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

export interface RolloutFilter {
  readonly policyId?: string | undefined;
  readonly state?: RolloutState | undefined;
}

function filtered(db: Db, { policyId, state }: RolloutFilter) {
  let query = db.selectFrom('rollouts');
  if (policyId !== undefined) query = query.where('policy_id', '=', policyId);
  if (state !== undefined) query = query.where('state', '=', state);
  return query;
}

/** Compare-and-swap: the new row if the rollout was in this state and ring, else null. */
export async function moveRollout(
  tx: Tx,
  {
    id,
    from,
    ring,
    set,
  }: { id: string; from: readonly RolloutState[]; ring?: number; set: Partial<RolloutRow> },
): Promise<RolloutRow | null> {
  const query = tx.updateTable('rollouts').set(set).where('id', '=', id).where('state', 'in', from);
  const row = await (ring === undefined ? query : query.where('ring', '=', ring))
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Holds rollouts that go on until the transaction ends, so that none is halted meanwhile; the ids of those. */
export async function holdGoing(tx: Tx, ids: readonly string[]): Promise<Set<string>> {
  const held = new Set<string>();
  for (const some of chunks([...new Set(ids)].toSorted())) {
    const rows = await tx
      .updateTable('rollouts')
      .set((e) => ({ withdrawn: e.ref('withdrawn') }))
      .where('id', 'in', some)
      .where('state', 'in', ['running', 'finished'])
      .returning('id')
      .execute();
    for (const { id } of rows) held.add(id);
  }
  return held;
}

/** The packages of a rollout by name. */
export async function packagesOf(db: Db, rolloutId: string, limit: number): Promise<RolloutPackageRow[]> {
  return db
    .selectFrom('rollout_packages')
    .selectAll()
    .where('rollout_id', '=', rolloutId)
    .orderBy('ecosystem')
    .orderBy('name')
    .orderBy('version')
    .limit(limit)
    .execute();
}

export async function countPackages(db: Db, rolloutId: string): Promise<number> {
  const row = await db
    .selectFrom('rollout_packages')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('rollout_id', '=', rolloutId)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Versions that rollouts of these rings have carried, whatever became of them, and those of rollouts that ended well. */
export async function versionsCarried(
  db: Db,
  order: RingOrder,
): Promise<{ carried: Set<string>; finished: Set<string> }> {
  const rows = await db
    .selectFrom('rollout_packages as p')
    .innerJoin('rollouts as r', 'r.id', 'p.rollout_id')
    .select(['p.ecosystem', 'p.name', 'p.version', 'r.state'])
    .distinct()
    .where('r.policy_id', '=', order.policy_id)
    .where('r.members_sha256', '=', order.members_sha256)
    .execute();
  const finished = rows.filter(({ state }) => state === 'finished');
  return { carried: new Set(rows.map(versionKey)), finished: new Set(finished.map(versionKey)) };
}

export function versionKey({
  ecosystem,
  name,
  version,
}: Pick<RolloutPackageRow, 'ecosystem' | 'name' | 'version'>): string {
  return [ecosystem, name, version].join('\n');
}

/** Rollouts that ended before this time, and of which nothing is left to withdraw; the oldest first. */
export async function endedRollouts(
  db: Db,
  { endedBeforeMs, limit }: { endedBeforeMs: number; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('rollouts')
    .select('id')
    .where('ended_at', '<', endedBeforeMs)
    .where((e) => e.or([e('state', '=', 'finished'), e('withdrawn', '=', 1)]))
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Deletes some of the hosts of a rollout; returns how many. */
export async function deleteHostsOf(tx: Tx, { id, limit }: { id: string; limit: number }): Promise<number> {
  const some = tx.selectFrom('rollout_hosts').select('agent_id').where('rollout_id', '=', id).limit(limit);
  const { numDeletedRows } = await tx
    .deleteFrom('rollout_hosts')
    .where('rollout_id', '=', id)
    .where('agent_id', 'in', some)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes a rollout that has no hosts any more, with its packages. */
export async function deleteRollout(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('rollout_packages').where('rollout_id', '=', id).execute();
  await tx.deleteFrom('rollouts').where('id', '=', id).execute();
}
