import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import type { UpdateRow } from './store.ts';

export type SiblingRow = Pick<
  UpdateRow,
  'id' | 'name' | 'arch' | 'current_version' | 'available_version' | 'state'
>;

/** The index has these states in its condition, so they are written as it has them. */
const IS_OPEN = sql<boolean>`state IN ('pending', 'awaiting_plan')`;

/** How many open updates have each of these plans. */
export async function countOfPlans(db: Db, planIds: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const some of chunks([...new Set(planIds)])) {
    const { rows } = await openOfPlans(some).execute(db);
    for (const { plan_id, updates } of rows) counts.set(plan_id, Number(updates));
  }
  return counts;
}

export function openOfPlans(planIds: readonly string[]) {
  return sql<{ plan_id: string; updates: number }>`SELECT plan_id, count(*) AS updates FROM updates
    WHERE plan_id IN (${sql.join(planIds)}) AND ${IS_OPEN} GROUP BY plan_id`;
}

/** The other open updates with the plan of an update, by name. */
export async function siblingsOf(
  db: Db,
  { id, plan_id }: Pick<UpdateRow, 'id' | 'plan_id'>,
  limit: number,
): Promise<SiblingRow[]> {
  if (plan_id === null) return [];
  return db
    .selectFrom('updates')
    .select(['id', 'name', 'arch', 'current_version', 'available_version', 'state'])
    .where('plan_id', '=', plan_id)
    .where(IS_OPEN)
    .where('id', '!=', id)
    .orderBy('name')
    .orderBy('id')
    .limit(limit)
    .execute();
}
