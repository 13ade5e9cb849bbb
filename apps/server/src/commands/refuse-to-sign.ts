import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import type { ApprovalFault } from './approval-rules.ts';
import { type CommandRow, compareAndSwapStatus } from './store.ts';

/** Maximum length of an unverified column in an event, in characters. */
const COLUMN_MAX_CHARS = 64;

/**
 * Ends a command whose row this server never wrote: somebody else writes to the database (T6). It is critical
 * and needs an operator; the update returns to `pending`.
 */
export async function refuseToSign(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
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
      update_id: command.update_id?.slice(0, COLUMN_MAX_CHARS) ?? null,
    },
  });
  if (command.update_id === null) return;
  await transitionUpdate(tx, platform, {
    updateId: command.update_id,
    from: ['approved'],
    to: 'pending',
    reason: check,
    actor: 'server',
    set: { approval_id: null, not_before: null },
  });
}
