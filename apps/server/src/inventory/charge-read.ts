import { charge } from '../outsiders/charge.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';

/** Stored rows that a message has the server read without a charge, and how many more are charged as one written row. */
const READ_FREE = 1_000;
const READ_AS_ONE = 10;

/**
 * Charges a message of a few bytes for what it had the server read: a host may have a package in two hundred thousand versions,
 * and tens of thousands of updates. False if that spends the budget of the host, or if it was spent.
 */
export async function chargeRead(
  tx: Tx,
  platform: Platform,
  { agentId, read }: { agentId: string; read: number },
): Promise<boolean> {
  const rows = rowsForReading(read);
  return rows === 0 || charge(tx, platform, { kind: 'reports', subject: { agentId }, rows, bytes: 0 });
}

/** Rows of the budget that are charged for so many stored ones. */
export function rowsForReading(read: number): number {
  return Math.ceil(Math.max(0, read - READ_FREE) / READ_AS_ONE);
}
