import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { compareAndSwapStatus, openCommandsOfUpdates } from './store.ts';

/**
 * Cancels the unacknowledged commands that name one of these updates; returns how many. The agent already has
 * received and running commands: their results decide.
 */
export async function cancelCommandsOfUpdates(
  tx: Tx,
  platform: Pick<Platform, 'now'>,
  { updateIds, reason }: { updateIds: readonly string[]; reason: string },
): Promise<number> {
  let cancelled = 0;
  const nowMs = platform.now();
  const change = { status: 'cancelled', reason, finished_at: nowMs };
  for (const id of await openCommandsOfUpdates(tx, updateIds)) {
    if (await compareAndSwapStatus(tx, { id, from: ['pending', 'sent'], change, nowMs })) cancelled++;
  }
  return cancelled;
}
