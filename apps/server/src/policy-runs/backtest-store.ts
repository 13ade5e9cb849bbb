import type { DecisionRow } from '../approvals/decision-store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { planOf, type StoredPlan, type UpdateRow } from '../updates/store.ts';
import type { ReachedHost } from './candidates-store.ts';

/** The host of a recorded decision, with the decision's id and time. */
export interface PastDecision extends ReachedHost {
  readonly decisionId: string;
  readonly decidedAtMs: number;
  readonly osId: string;
}

/** Decisions about active hosts since a time, the newest first, before the one that ended the previous page. */
export async function pastDecisions(
  db: Db,
  { sinceMs, before, limit }: { sinceMs: number; before: string | null; limit: number },
): Promise<PastDecision[]> {
  let query = db
    .selectFrom('decisions as d')
    .innerJoin('agents as a', 'a.id', 'd.agent_id')
    .select(['d.id as decision_id', 'd.decided_at', 'a.id', 'a.hostname', 'a.os_id', 'a.group_name'])
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where('d.decided_at', '>=', sinceMs);
  if (before !== null) query = query.where('d.id', '<', before);
  const rows = await query.orderBy('d.id', 'desc').limit(limit).execute();
  return rows.map(({ id, hostname, group_name: group, ...row }) => ({
    ...{ id, hostname, group, osId: row.os_id },
    ...{ decisionId: row.decision_id, decidedAtMs: row.decided_at },
  }));
}

/** The newest first, if the ids are. */
export async function decisionsByIds(db: Db, ids: readonly string[]): Promise<DecisionRow[]> {
  const found: DecisionRow[] = [];
  for (const some of chunks(ids)) {
    found.push(
      ...(await db
        .selectFrom('decisions')
        .selectAll()
        .where('id', 'in', some)
        .orderBy('id', 'desc')
        .execute()),
    );
  }
  return found;
}

/** What an update is today. */
export type DecidedUpdate = Pick<
  UpdateRow,
  'id' | 'available_version' | 'origin' | 'security' | 'change' | 'taken_back'
>;

export async function decidedUpdates(db: Db, ids: readonly string[]): Promise<Map<string, DecidedUpdate>> {
  const found = new Map<string, DecidedUpdate>();
  for (const some of chunks(ids)) {
    const rows = await db
      .selectFrom('updates')
      .select(['id', 'available_version', 'origin', 'security', 'change', 'taken_back'])
      .where('id', 'in', some)
      .execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/** The plans that are still stored, by id. */
export async function storedPlans(db: Db, ids: readonly string[]): Promise<Map<string, StoredPlan>> {
  const found = new Map<string, StoredPlan>();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db.selectFrom('update_plans').selectAll().where('id', 'in', some).execute();
    for (const row of rows) found.set(row.id, planOf(row));
  }
  return found;
}
