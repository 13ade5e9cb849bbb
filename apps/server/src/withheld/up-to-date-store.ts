import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { UpToDate } from '../agents/filter-store.ts';
import type { Platform } from '../platform/platform.ts';
import { isKept, keptNow } from '../updates/held-store.ts';
import { IS_PENDING_THERE, IS_UNDER_WAY } from './store.ts';

type Condition = RawBuilder<SqlBool>;

const SUM = sql`SELECT s.agent_id FROM host_sums AS s`;
/** A host that never reported its packages is not up to date: nothing is known of it. */
export const HAS_REPORTED = sql<SqlBool>`EXISTS (SELECT 1 FROM inventory_reports AS r WHERE r.agent_id = a.id)`;
export const HAS_NONE_UNDER_WAY = sql<SqlBool>`NOT EXISTS
  (SELECT 1 FROM updates AS u WHERE u.agent_id = a.id AND ${IS_UNDER_WAY})`;

/**
 * Which hosts `a` are up to date: active hosts that reported their packages, and on which nothing is open but what holds
 * keep back. Few hosts are found by the index of their sums; of many each is probed.
 */
export async function hostsUpToDate(deps: Pick<Platform, 'database' | 'now'>): Promise<UpToDate['is']> {
  const kept = await keptNow(deps);
  const waitsForNone = (matches: 'few' | 'many'): Condition => {
    if (kept.length > 0) {
      return sql<SqlBool>`EXISTS (${SUM} WHERE s.agent_id = a.id AND (s.pending = 0 OR NOT EXISTS
        (SELECT 1 FROM updates AS u WHERE u.agent_id = a.id AND ${IS_PENDING_THERE}
          AND NOT ${isKept(kept, deps.database.engine)})))`;
    }
    return matches === 'many'
      ? sql<SqlBool>`EXISTS (${SUM} WHERE s.agent_id = a.id AND s.pending = 0)`
      : sql<SqlBool>`a.id IN (${SUM} WHERE s.pending = 0)`;
  };
  return (matches) => sql<SqlBool>`(a.status = 'active' AND ${HAS_REPORTED} AND ${waitsForNone(matches)}
    AND ${HAS_NONE_UNDER_WAY})`;
}
