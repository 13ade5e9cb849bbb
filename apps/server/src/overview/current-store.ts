import { sql } from 'kysely';
import { holdsInForce } from '../holds/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { endsOf, type Held } from '../withheld/held-rules.ts';
import { heldOnHosts } from '../withheld/held-store.ts';
import { UNDER_WAY } from '../withheld/store.ts';

/** Hosts and updates per statement. */
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
  const busy = await hostsUnderWay(db, turn);
  let hosts = 0;
  for (let after = ''; ; ) {
    const { rows } = await sql<{ id: string; pending: number; is_known: number }>`
      SELECT a.id, h.pending,
        CASE WHEN EXISTS (SELECT 1 FROM inventory_reports AS r WHERE r.agent_id = a.id) THEN 1 ELSE 0 END AS is_known
      FROM agents AS a JOIN host_sums AS h ON h.agent_id = a.id
      WHERE a.id > ${after} AND a.status = 'active' AND a.deleted_at IS NULL AND ${groupInScope(scope, 'a.group_name')}
      ORDER BY a.id LIMIT ${sql.lit(STEP_ROWS)}`.execute(db);
    for (const { id, pending, is_known: isKnown } of rows) {
      const isDone = Number(pending) <= (heldOf.get(id) ?? 0);
      if (isDone && Number(isKnown) === 1 && !busy.has(id)) hosts++;
    }
    const last = rows.at(-1);
    if (!last || rows.length < STEP_ROWS) break;
    after = last.id;
    await turn();
  }
  return { hosts, held: { updates, securityUpdates, ends: endsOf([...keeping.values()]) } };
}

async function hostsUnderWay(db: Db, turn: () => Promise<unknown>): Promise<Set<string>> {
  const found = new Set<string>();
  for (const state of UNDER_WAY) {
    for (let after = ''; ; ) {
      const rows = await db
        .selectFrom('updates')
        .select(['id', 'agent_id'])
        .where('state', '=', state)
        .where('id', '>', after)
        .orderBy('id')
        .limit(STEP_ROWS)
        .execute();
      for (const { agent_id: id } of rows) found.add(id);
      const last = rows.at(-1);
      if (!last || rows.length < STEP_ROWS) break;
      after = last.id;
      await turn();
    }
  }
  return found;
}
