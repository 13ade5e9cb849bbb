import type { UpdateState } from '@tidegate/protocol/states';
import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { planOf, type StoredPlan, type UpdateRow } from './store.ts';

/** Rows that one statement changes: six or seven values each. */
const CHANGED_ROWS = 200;

/** Those of these updates that are there, by id. */
export async function findUpdates(db: Db, ids: readonly string[]): Promise<Map<string, UpdateRow>> {
  const found = new Map<string, UpdateRow>();
  for (const some of chunks(ids)) {
    const rows = await db.selectFrom('updates').selectAll().where('id', 'in', some).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/** By id; throws where stored actions are not what was once accepted. */
export async function readPlans(db: Db, planIds: readonly string[]): Promise<Map<string, StoredPlan>> {
  const found = new Map<string, StoredPlan>();
  for (const some of chunks(planIds)) {
    const rows = await db.selectFrom('update_plans').selectAll().where('id', 'in', some).execute();
    for (const row of rows) found.set(row.id, planOf(row));
  }
  return found;
}

/** Updates of a host that have a plan and may still be installed by it, by id. */
export async function updatesWithPlan(
  db: Db,
  { agentId, after, limit }: { agentId: string; after: string; limit: number },
): Promise<{ id: string; ecosystem: string; plan_id: string }[]> {
  const rows = await db
    .selectFrom('updates')
    .select(['id', 'ecosystem', 'plan_id'])
    .where('agent_id', '=', agentId)
    .where('state', 'in', ['pending', 'awaiting_plan', 'approved'])
    .where('plan_id', 'is not', null)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.flatMap(({ plan_id, ...row }) => (plan_id === null ? [] : [{ ...row, plan_id }]));
}

export interface StateChange {
  readonly updateId: string;
  readonly from: UpdateState;
  readonly to: UpdateState;
  readonly reason: string | null;
  /** Who moves it. */
  readonly actor: string;
  readonly approvalId: string;
  readonly notBefore: number | null;
}

/** Compare-and-swap of many, each in its own words; returns how many were in the state that was said. */
export async function swapStates(
  tx: Tx,
  { changes, nowMs }: { changes: readonly StateChange[]; nowMs: number },
): Promise<number> {
  let swapped = 0;
  for (const some of chunks(changes, CHANGED_ROWS)) {
    const rows = some.map(
      (one) =>
        sql`(${one.updateId}, ${one.from}, ${one.to}, ${one.reason}, ${one.approvalId}, ${one.notBefore})`,
    );
    const { numAffectedRows } = await sql`UPDATE updates SET state = v.column3, state_reason = v.column4,
      approval_id = v.column5, not_before = CAST(v.column6 AS BIGINT), updated_at = ${nowMs}
      FROM (VALUES ${sql.join(rows)}) AS v
      WHERE updates.id = v.column1 AND updates.state = v.column2`.execute(tx);
    swapped += Number(numAffectedRows ?? 0n);
  }
  return swapped;
}

export type Badge = Pick<
  UpdateRow,
  'verdict' | 'severity' | 'known_exploited' | 'epss' | 'queue_rank' | 'fixes'
>;

/** The badges for lists: what the newest judgement said. No decision rests on them. */
export async function setVerdicts(
  tx: Tx,
  { badges, nowMs }: { badges: readonly { updateId: string; badge: Badge }[]; nowMs: number },
): Promise<void> {
  for (const some of chunks(badges, CHANGED_ROWS)) {
    const rows = some.map(
      ({ updateId, badge: of }) =>
        sql`(${updateId}, ${of.verdict}, ${of.severity}, ${of.known_exploited}, ${of.epss}, ${of.queue_rank}, ${of.fixes})`,
    );
    await sql`UPDATE updates SET verdict = v.column2, severity = v.column3,
      known_exploited = CAST(v.column4 AS INTEGER), epss = CAST(v.column5 AS DOUBLE PRECISION),
      queue_rank = CAST(v.column6 AS BIGINT), fixes = CAST(v.column7 AS INTEGER), judged_at = ${nowMs}
      FROM (VALUES ${sql.join(rows)}) AS v
      WHERE updates.id = v.column1`.execute(tx);
  }
}
