import { sql } from 'kysely';
import { holdsInForce } from '../holds/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { endsOf, type Held } from '../withheld/held-rules.ts';
import { heldOnHosts } from '../withheld/held-store.ts';
import { HAS_NONE_UNDER_WAY, HAS_REPORTED } from '../withheld/up-to-date-store.ts';

/** Hosts per statement. */
const STEP_ROWS = 5_000;
export interface CurrentHosts {
  /** Active hosts that reported their packages, and on which nothing is open but what holds keep back. */
  readonly hosts: number;
  readonly held: Held;
}

/** Counts the hosts that are up to date but for holds, in parts; `turn` lets others run between them. */
export async function countCurrent(
  db: Db,
  { nowMs, scope, turn }: { nowMs: number; scope: GroupScope; turn: () => Promise<unknown> },
): Promise<CurrentHosts> {
  const heldOf = new Map<string, number>();
  const keeping = new Map<string, { endsAtMs: number }>();
  let [updates, securityUpdates] = [0, 0];
  for await (const hosts of heldOnHosts(db, { holds: await holdsInForce(db, nowMs), scope })) {
    for (const one of hosts) {
      heldOf.set(one.agentId, (heldOf.get(one.agentId) ?? 0) + one.updates);
      updates += one.updates;
      securityUpdates += one.securityUpdates;
      for (const hold of one.holds) keeping.set(hold.id, hold);
    }
    await turn();
  }
  let hosts = 0;
  for (let after = ''; ; ) {
    const { rows } = await sql<{ id: string; pending: number; can_be: number }>`
      SELECT a.id, h.pending,
        CASE WHEN ${HAS_REPORTED} AND ${HAS_NONE_UNDER_WAY} THEN 1 ELSE 0 END AS can_be
      FROM agents AS a JOIN host_sums AS h ON h.agent_id = a.id
      WHERE a.id > ${after} AND a.status = 'active' AND a.deleted_at IS NULL AND ${groupInScope(scope, 'a.group_name')}
      ORDER BY a.id LIMIT ${sql.lit(STEP_ROWS)}`.execute(db);
    for (const { id, pending, can_be: canBe } of rows) {
      const isDone = Number(pending) <= (heldOf.get(id) ?? 0);
      if (isDone && Number(canBe) === 1) hosts++;
    }
    const last = rows.at(-1);
    if (!last || rows.length < STEP_ROWS) break;
    after = last.id;
    await turn();
  }
  return { hosts, held: { updates, securityUpdates, ends: endsOf([...keeping.values()]) } };
}
