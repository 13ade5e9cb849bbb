import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { liftDistrust } from './distrust-store.ts';
import { settleDivergencesOf } from './set-aside.ts';

/**
 * Lets the reports of a host count again, on an operator's word and with new limits. Upkeep records its reports from its
 * time aside; until then its plans are compared with the other hosts' reports. False when the host is not set aside.
 */
export async function trustHost(
  platform: Platform,
  { agentId, reason, operator }: { agentId: string; reason: string; operator: string },
): Promise<boolean> {
  return platform.database.transact(async (tx) => {
    const lifted = { agentId, nowMs: platform.now(), actor: operator, reason };
    if (!(await liftDistrust(tx, lifted))) return false;
    await appendEvent(tx, platform, {
      ...{ kind: 'security', type: 'ARTIFACT_HOST_TRUSTED', severity: 'warning', component: 'security' },
      ...{ agentId, actor: operator, content: { reason, actor: operator } },
    });
    await settleDivergencesOf(tx, platform, agentId);
    return true;
  });
}
