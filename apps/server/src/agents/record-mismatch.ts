import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';

/** Every failed machine check leaves its event (section 6), committed before the 403 is sent. */
export async function recordMismatch(
  platform: Platform,
  mismatch: { agentId: string; recorded: string | null; reported: string | null; endpoint: string },
): Promise<void> {
  await platform.database.transact((tx) =>
    appendEvent(tx, platform, {
      kind: 'security',
      type: 'MACHINE_ID_MISMATCH',
      severity: 'warning',
      component: 'agents',
      agentId: mismatch.agentId,
      actor: 'agent',
      content: {
        endpoint: mismatch.endpoint,
        recorded_machine_id: mismatch.recorded,
        reported_machine_id: mismatch.reported,
      },
    }),
  );
}
