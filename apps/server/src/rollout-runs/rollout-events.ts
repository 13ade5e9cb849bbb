import type { SystemEventType } from '@tidegate/protocol/event-types';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { RolloutRow } from '../rollouts/store.ts';

type RolloutEvent = Extract<SystemEventType, `rollout_${string}`>;

/** An event about a rollout, in the transaction of the act. */
export async function recordRollout(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  event: {
    type: RolloutEvent;
    severity: 'info' | 'warning' | 'critical';
    actor: string;
    rollout: RolloutRow;
    policyName: string;
    content?: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  const { type, severity, actor, rollout, policyName, content = {} } = event;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type, severity, component: 'rollouts', actor },
    content: {
      ...{ rollout_id: rollout.id, policy_id: rollout.policy_id, policy: policyName, ring: rollout.ring },
      ...{ ...content, actor },
    },
  });
}
