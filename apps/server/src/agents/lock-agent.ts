import { sql } from 'kysely';
import type { Tx } from '../platform/db/engine.ts';

/**
 * Takes the row of an agent for this transaction, so that its reports and deliveries come one after the other.
 * Returns the next command sequence number, or null where there is no such agent.
 */
export async function lockAgent(tx: Tx, agentId: string): Promise<{ nextSeq: number } | null> {
  // A no-op update locks the row on both engines without a dialect of its own.
  const row = await tx
    .updateTable('agents')
    .set({ next_seq: sql<number>`next_seq` })
    .where('id', '=', agentId)
    .where('deleted_at', 'is', null)
    .returning('next_seq')
    .executeTakeFirst();
  return row ? { nextSeq: row.next_seq } : null;
}

/** Sequence numbers rise for the life of an agent; the caller holds its lock. */
export async function setNextSeq(tx: Tx, args: { agentId: string; nextSeq: number }): Promise<void> {
  await tx.updateTable('agents').set({ next_seq: args.nextSeq }).where('id', '=', args.agentId).execute();
}
