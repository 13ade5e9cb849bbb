import { sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { RUN_SLOT_MS } from '../policies/run-slots.ts';

/** Approvals that no host has been given, by quarter of an hour. */
export interface DueSlot {
  readonly slot: number;
  readonly approvals: number;
}

/** Times at which their delivery begins, later than now. Reads the table of commands, by index alone. */
export async function beginningFrom(db: Db, nowMs: number): Promise<DueSlot[]> {
  return slotsOf(db, 'not_before', nowMs);
}

/** Times at which they expire. */
export async function expiringFrom(db: Db, nowMs: number): Promise<DueSlot[]> {
  return slotsOf(db, 'expires_at', nowMs);
}

async function slotsOf(db: Db, column: 'not_before' | 'expires_at', nowMs: number): Promise<DueSlot[]> {
  const { rows } = await sql<{ slot: number; approvals: number }>`
    SELECT ${sql.ref(column)} / ${sql.lit(RUN_SLOT_MS)} AS slot, count(*) AS approvals FROM agent_commands
    WHERE status = 'pending' AND action = 'install_update' AND ${sql.ref(column)} > ${nowMs}
    GROUP BY 1 ORDER BY 1`.execute(db);
  return rows.map(({ slot, approvals }) => ({ slot: Number(slot), approvals: Number(approvals) }));
}
