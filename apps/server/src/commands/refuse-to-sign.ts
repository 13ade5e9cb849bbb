import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { ApprovalFault } from './approval-rules.ts';
import { updatesOfCommand } from './named-updates.ts';
import { type CommandRow, compareAndSwapStatus } from './store.ts';
import { returnToPending } from './withdraw-approvals.ts';

/** Maximum length of an unverified column in an event, in characters. */
const COLUMN_MAX_CHARS = 64;
/** Updates that an event names. */
const EVENT_UPDATES_MAX = 50;

/**
 * Ends a command whose row this server never wrote: somebody else writes to the database (T6). It is critical
 * and needs an operator; its updates return to `pending`.
 */
export async function refuseToSign(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { command, check }: { command: CommandRow; check: ApprovalFault | 'not_valid' | 'not_sealed' },
): Promise<void> {
  const change = { status: 'cancelled', reason: check, finished_at: platform.now() };
  if (
    !(await compareAndSwapStatus(tx, {
      id: command.id,
      from: ['pending', 'sent'],
      change,
      nowMs: platform.now(),
    }))
  )
    return;
  const updateIds = command.action === 'install_update' ? updatesOfCommand(command) : [];
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'COMMAND_REFUSED',
    severity: 'critical',
    component: 'commands',
    agentId: command.agent_id,
    actor: 'server',
    content: {
      command_id: command.id.slice(0, COLUMN_MAX_CHARS),
      action: command.action.slice(0, COLUMN_MAX_CHARS),
      check,
      update_ids: updateIds.slice(0, EVENT_UPDATES_MAX),
    },
  });
  await returnToPending(tx, platform, { updateIds, reason: check, actor: 'server' });
}
