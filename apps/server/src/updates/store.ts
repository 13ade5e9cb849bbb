import { PlanAction } from '@tidegate/protocol/plan';
import type { UpdateState } from '@tidegate/protocol/states';
import type { Insertable, Selectable, Updateable } from 'kysely';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type UpdateRow = Omit<Selectable<Tables['updates']>, 'gone' | 'again' | 'host_os_id'>;
export type HistoryRow = Selectable<Tables['update_history']>;
export type UpdateChange = Pick<
  Updateable<Tables['updates']>,
  'plan_id' | 'approval_id' | 'not_before' | 'out_of_band'
>;

/** The package manager's actions for an update, as the agent reported them. */
export interface StoredPlan {
  id: string;
  /** Of the updates that it brings about (`setDigest`). */
  setSha256: string;
  resolvedAtMs: number;
  receivedAtMs: number;
  actions: PlanAction[];
  planSha256: string;
}

/** Rows read per statement, because SQLite cannot interrupt it. */
const READ_ROWS = 500;
/** Rows per INSERT; SQLite binds at most 32,766 values. */
const INSERT_ROWS = 500;

export async function findUpdate(db: Db, id: string): Promise<UpdateRow | null> {
  return (await db.selectFrom('updates').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** In name order, rows of one name in the order found; `but` omits states. */
export async function updatesOf(
  db: Db,
  { agentId, ecosystem, but = [] }: { agentId: string; ecosystem: string; but?: readonly UpdateState[] },
): Promise<UpdateRow[]> {
  const query = db
    .selectFrom('updates')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .$if(but.length > 0, (open) => open.where('state', 'not in', but))
    .orderBy('name')
    .orderBy('id')
    .limit(READ_ROWS);
  const found: UpdateRow[] = [];
  let page = await query.execute();
  for (;;) {
    found.push(...page);
    const last = page.at(-1);
    if (!last || page.length < READ_ROWS) return found;
    page = await query.where((e) => e(e.refTuple('name', 'id'), '>', e.tuple(last.name, last.id))).execute();
  }
}

export async function insertUpdates(tx: Tx, rows: readonly Insertable<Tables['updates']>[]): Promise<void> {
  await insertNames(tx, rows);
  for (let i = 0; i < rows.length; i += INSERT_ROWS) {
    await tx
      .insertInto('updates')
      .values(rows.slice(i, i + INSERT_ROWS))
      .execute();
  }
}

/** In one order, so that two writers of the same names do not deadlock. */
async function insertNames(
  tx: Tx,
  rows: readonly Pick<Insertable<Tables['updates']>, 'ecosystem' | 'name'>[],
): Promise<void> {
  const names = new Map(rows.map(({ ecosystem, name }) => [`${name}\n${ecosystem}`, { ecosystem, name }]));
  const sorted = [...names].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
  for (const some of chunks(sorted)) {
    await tx
      .insertInto('update_names')
      .values(some)
      .onConflict((conflict) => conflict.columns(['name', 'ecosystem']).doNothing())
      .execute();
  }
}

/** Sets the facts of the newest scan, which do not include the state. */
export async function refreshUpdate(
  tx: Tx,
  id: string,
  facts: Pick<UpdateRow, 'current_version' | 'origin' | 'security' | 'size_bytes' | 'updated_at'>,
): Promise<void> {
  await tx.updateTable('updates').set(facts).where('id', '=', id).execute();
}

/** Compare-and-swap: true if the update was in `from` and has changed. */
export async function compareAndSwapState(
  tx: Tx,
  args: {
    updateId: string;
    from: UpdateState;
    change: UpdateChange & { state: UpdateState; state_reason: string | null; updated_at: number };
  },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('updates')
    .set(args.change)
    .where('id', '=', args.updateId)
    .where('state', '=', args.from)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function insertHistory(
  tx: Tx,
  rows: readonly Insertable<Tables['update_history']>[],
): Promise<void> {
  for (let i = 0; i < rows.length; i += INSERT_ROWS) {
    await tx
      .insertInto('update_history')
      .values(rows.slice(i, i + INSERT_ROWS))
      .execute();
  }
}

export async function readHistory(db: Db, updateId: string): Promise<HistoryRow[]> {
  return db
    .selectFrom('update_history')
    .selectAll()
    .where('update_id', '=', updateId)
    .orderBy('id', 'desc')
    .limit(500)
    .execute();
}

export async function insertPlan(tx: Tx, plan: StoredPlan): Promise<void> {
  await tx
    .insertInto('update_plans')
    .values({
      id: plan.id,
      set_sha256: plan.setSha256,
      resolved_at: plan.resolvedAtMs,
      received_at: plan.receivedAtMs,
      actions: JSON.stringify(plan.actions),
      plan_sha256: plan.planSha256,
    })
    .execute();
}

export async function setPlan(
  tx: Tx,
  args: { updateId: string; planId: string; nowMs: number },
): Promise<void> {
  await tx
    .updateTable('updates')
    .set({ plan_id: args.planId, updated_at: args.nowMs })
    .where('id', '=', args.updateId)
    .execute();
}

const planActions = Compile(Type.Array(PlanAction));

/** Returns null if the plan is missing; throws if the stored actions are not valid. */
export async function readPlan(db: Db, planId: string): Promise<StoredPlan | null> {
  const row = await db.selectFrom('update_plans').selectAll().where('id', '=', planId).executeTakeFirst();
  if (!row) return null;
  return planOf(row);
}

/** Throws if the actions are not valid. */
export function planOf(row: Selectable<Tables['update_plans']>): StoredPlan {
  const actions: unknown = JSON.parse(row.actions);
  if (!planActions.Check(actions)) throw new Error(`the plan ${row.id} in the database is not valid`);
  return {
    id: row.id,
    setSha256: row.set_sha256,
    resolvedAtMs: row.resolved_at,
    receivedAtMs: row.received_at,
    actions,
    planSha256: row.plan_sha256,
  };
}
