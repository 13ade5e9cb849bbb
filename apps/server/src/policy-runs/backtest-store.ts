import type { DecisionRow } from '../approvals/decision-store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
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
