import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { liftDistrust } from './distrust-store.ts';
import { settleDivergencesOf } from './set-aside.ts';

/**
 * An operator lets the word of a host count again, with new limits. What it said meanwhile is noted by the upkeep; until
 * then its plans are held against what others say. False where the host is not set aside.
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
