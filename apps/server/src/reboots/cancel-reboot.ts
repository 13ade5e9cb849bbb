import { cancelCommand } from '../commands/change-command.ts';
import { findCommand } from '../commands/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { endReboot } from './end-reboot.ts';
import { changeReboot, findReboot } from './store.ts';

/** `asked`: the host may have the command, and its result decides. */
export type CancelRebootOutcome = 'cancelled' | 'asked' | 'too_late' | 'ended' | 'unknown';

/** Takes a host out of the queue, or asks it to call off what has not begun (decision 0057). */
export async function cancelReboot(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { id, by }: { id: string; by: string },
): Promise<CancelRebootOutcome> {
  const row = await findReboot(tx, id);
  if (!row) return 'unknown';
  if (row.ended_at !== null) return 'ended';
  const { command_id: commandId } = row;
  const end = { row, command: commandId, state: 'cancelled', detail: null, by } as const;
  if (commandId === null) {
    // Where the server has given it a command meanwhile, that one is cancelled.
    return (await endReboot(tx, platform, end)) ? 'cancelled' : cancelReboot(tx, platform, { id, by });
  }
  const command = await findCommand(tx, commandId);
  const outcome = command ? await cancelCommand(tx, platform, { command, by }) : 'finished';
  if (outcome === 'with_agent') return 'too_late';
  if (outcome === 'cancelled' && command?.sent_at === null) {
    if ((await findCommand(tx, commandId))?.sent_at === null) {
      return (await endReboot(tx, platform, end)) ? 'cancelled' : 'ended';
    }
  }
  await changeReboot(tx, { id, command: commandId, change: { cancelled_by: by } });
  return 'asked';
}
