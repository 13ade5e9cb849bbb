import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { updatesOfCommand } from './named-updates.ts';
import { queueCommand } from './queue-command.ts';
import { compareAndSwapStatus, overdue, stillApproved } from './store.ts';

/** Commands that one call examines. */
export const EXPIRE_MAX = 500;

/**
 * Ends the expired open commands of one agent or of all (at most EXPIRE_MAX). While the approval of an
 * install command is live, the command is issued anew. Returns how many expired.
 */
export async function expireCommands(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId }: { agentId: string | null },
): Promise<number> {
  const nowMs = platform.now();
  const commands = await overdue(tx, { agentId, nowMs, limit: EXPIRE_MAX });
  const installs = commands.filter((command) => command.action === 'install_update');
  const live = await stillApproved(tx, { commandIds: installs.map((command) => command.id), nowMs });
  let expired = 0;
  for (const command of commands) {
    const change = { status: 'expired', reason: 'expired', finished_at: nowMs };
    if (
      !(await compareAndSwapStatus(tx, {
        id: command.id,
        from: ['pending', 'sent'],
        change,
        nowMs: platform.now(),
      }))
    )
      continue;
    expired++;
    const { approval_id: tokenId, approval_sha256: sha256 } = command;
    if (!live.has(command.id) || tokenId === null || sha256 === null) continue;
    await queueCommand(tx, platform, {
      agentId: command.agent_id,
      action: 'install_update',
      params: { update_ids: updatesOfCommand(command) },
      approval: { tokenId, sha256 },
      createdBy: command.created_by,
    });
  }
  return expired;
}
