import { HALT_HOSTS_NAMED } from '@tidegate/protocol/rollouts-api';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { moveRollout, type RolloutRow } from '../rollouts/store.ts';
import { recordRollout } from './rollout-events.ts';
import { failedHosts } from './watch-store.ts';

export interface Halt {
  readonly rollout: RolloutRow;
  readonly policyName: string;
  /** An operator, or `server`. */
  readonly by: string;
  readonly reason: string;
}

/** Halts a rollout that runs, with an event that names the hosts that failed; null when it does not run any more. */
export async function haltRollout(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { rollout, policyName, by, reason }: Halt,
): Promise<RolloutRow | null> {
  const set = {
    state: 'halted',
    halted_at: platform.now(),
    halted_by: by,
    halt_reason: reason,
    withdrawn: 0,
  } as const;
  const halted = await moveRollout(tx, { id: rollout.id, from: ['running'], set });
  if (!halted) return null;
  const failed = await failedHosts(tx, { rolloutId: rollout.id, limit: HALT_HOSTS_NAMED });
  await recordRollout(tx, platform, {
    ...{ type: 'rollout_halted', severity: by === 'server' ? 'critical' : 'warning', actor: by },
    ...{ rollout: halted, policyName, content: { reason, hosts: failed } },
  });
  return halted;
}
