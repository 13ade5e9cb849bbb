import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { compareAndSwapStatus, openCommandsOfUpdate } from './store.ts';

/**
 * Cancels the unacknowledged commands of an update; returns how many. The agent already has received and
 * running commands: their results decide.
 */
export async function cancelCommandsOfUpdate(
  tx: Tx,
  platform: Pick<Platform, 'now'>,
  { updateId, reason }: { updateId: string; reason: string },
): Promise<number> {
  let cancelled = 0;
  for (const command of await openCommandsOfUpdate(tx, updateId)) {
    const change = { status: 'cancelled', reason, finished_at: platform.now() };
    if (
      await compareAndSwapStatus(tx, {
        id: command.id,
        from: ['pending', 'sent'],
        change,
        nowMs: platform.now(),
      })
    )
      cancelled++;
  }
  return cancelled;
}
