import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { RECOMMENDED_HERE } from '../updates/offer-rules.ts';
import { fixRank } from '../updates/queue-rules.ts';

/** Updates per statement: on SQLite nothing else runs meanwhile. */
const STEP_ROWS = 5_000;
const RANKS = [true, false].map((exploited) => fixRank({ fixes: 1, severity: 'critical', exploited }));

interface Row {
  id: string;
  discovered_at: number;
  is_counted: number;
}

/** Waiting updates of which the worst that they fix is critical, as the list counts them; reads these alone, in parts. */
export async function* countCriticalFixes(
  db: Db,
  { scope, stepRows = STEP_ROWS }: { scope: GroupScope; stepRows?: number },
): AsyncGenerator<number> {
  for (const rank of RANKS) {
    let behind: RawBuilder<SqlBool> = sql`1 = 1`;
    for (;;) {
      const { rows } = await sql<Row>`SELECT u.id, u.discovered_at,
        CASE WHEN (u.recommended & ${sql.lit(RECOMMENDED_HERE)}) <> 0 AND a.deleted_at IS NULL
          AND ${groupInScope(scope, 'a.group_name')} THEN 1 ELSE 0 END AS is_counted
        FROM updates AS u JOIN agents AS a ON a.id = u.agent_id
        WHERE u.state = 'pending' AND u.fix_rank = ${sql.lit(rank)} AND ${behind}
        ORDER BY (-u.discovered_at), u.id LIMIT ${sql.lit(stepRows)}`.execute(db);
      yield rows.reduce((sum, row) => sum + Number(row.is_counted), 0);
      const last = rows.at(-1);
      if (!last || rows.length < stepRows) break;
      behind = sql`((-u.discovered_at), u.id) > (${-last.discovered_at}, ${last.id})`;
    }
  }
}
