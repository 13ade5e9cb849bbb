import type { Db, Tx } from '../../../platform/db/engine.ts';
import type { Tables } from '../../../platform/db/tables.ts';

export type LoadRow = Tables['mirror_loads'];

/** A load without a heartbeat for this long is dead, in milliseconds; another server may start one. */
export const HEARTBEAT_MAX_MS = 2 * 60_000;

export async function readLoads(db: Db): Promise<Map<string, LoadRow>> {
  const rows = await db.selectFrom('mirror_loads').selectAll().execute();
  return new Map(rows.map((row) => [row.base, row]));
}

export function isUnderWay({ holder, heartbeat_at: at }: LoadRow, nowMs: number): boolean {
  return holder !== null && Math.abs(nowMs - at) < HEARTBEAT_MAX_MS;
}

/**
 * Claims an ecosystem for one load or delta, under a new number; null when another process holds it. Compare-and-swap: of
 * two attempts, on one server or on two, only one succeeds.
 */
export async function claimLoad(
  tx: Tx,
  { base, holder, nowMs, phase }: { base: string; holder: string; nowMs: number; phase: string },
): Promise<LoadRow | null> {
  const rows = await tx.selectFrom('mirror_loads').selectAll().execute();
  const mine = rows.find((row) => row.base === base);
  const loadId = rows.reduce((highest, row) => Math.max(highest, row.load_id), 0) + 1;
  const fields = {
    load_id: loadId,
    holder,
    started_at: nowMs,
    heartbeat_at: nowMs,
    phase,
    done: 0,
    total: 0,
  };
  if (!mine) {
    const made = await tx
      .insertInto('mirror_loads')
      .values({ base, ...fields, error: null, failures: 0, retry_at: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    return made ?? null;
  }
  if (isUnderWay(mine, nowMs)) return null;
  const taken = await tx
    .updateTable('mirror_loads')
    .set(fields)
    .where('base', '=', base)
    .where('load_id', '=', mine.load_id)
    .returningAll()
    .executeTakeFirst();
  return taken ?? null;
}

/** The heartbeat of a load; false when another process has taken it over. */
export async function beat(
  tx: Tx,
  at: { loadId: number; nowMs: number; phase: string; done: number; total: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('mirror_loads')
    .set({ heartbeat_at: at.nowMs, phase: at.phase, done: at.done, total: at.total })
    .where('load_id', '=', at.loadId)
    .where('holder', 'is not', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Ends a load; after a failure with the fault and the time of the next attempt. */
export async function endLoad(
  tx: Tx,
  { loadId, fault }: { loadId: number; fault: { error: string; failures: number; retryAtMs: number } | null },
): Promise<void> {
  await tx
    .updateTable('mirror_loads')
    .set({
      holder: null,
      phase: fault ? 'failed' : 'done',
      error: fault?.error ?? null,
      failures: fault?.failures ?? 0,
      retry_at: fault?.retryAtMs ?? 0,
    })
    .where('load_id', '=', loadId)
    .execute();
}
