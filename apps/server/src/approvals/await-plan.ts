import { queueCommand } from '../commands/queue-command.ts';
import type { Tx } from '../platform/db/engine.ts';
import { lockUpdate } from '../updates/lock-updates.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import type { ApprovalDeps } from './deps.ts';
import type { LoadedUpdate } from './load-update.ts';

export type AwaitOutcome = 'awaiting_plan' | 'plan_changed' | 'conflict';

/**
 * Requests the plan of an update from the agent (reading 5); the sweep continues once it is there. Requesting it again
 * changes nothing.
 */
export async function awaitPlan(
  tx: Tx,
  { platform }: ApprovalDeps,
  { loaded, actor, notBeforeMs }: { loaded: LoadedUpdate; actor: string; notBeforeMs: number | null },
): Promise<AwaitOutcome> {
  const { update, ecosystem } = loaded;
  const locked = await lockUpdate(tx, { engine: platform.database.engine, updateId: update.id });
  if (locked?.plan_id !== null) return 'plan_changed';
  if (locked.state === 'awaiting_plan') return 'awaiting_plan';
  const moved = await transitionUpdate(tx, platform, {
    updateId: update.id,
    from: ['pending'],
    to: 'awaiting_plan',
    actor,
    set: { not_before: notBeforeMs },
  });
  if (!moved) return 'conflict';
  await queueCommand(tx, platform, {
    agentId: update.agent_id,
    action: 'plan_update',
    params: {
      update_id: update.id,
      ecosystem,
      name: update.name,
      ...(update.arch ? { arch: update.arch } : {}),
      to_version: update.available_version,
    },
    createdBy: actor,
  });
  return 'awaiting_plan';
}
