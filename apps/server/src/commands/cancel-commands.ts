import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { compareAndSwapStatus, openCommandsOfUpdate } from './store.ts';

/**
 * Cancels the commands of an update that no agent has acknowledged yet; returns how many. One that is received or
 * running is with its agent: its result will say what became of it.
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
