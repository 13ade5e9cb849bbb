import type { MitigationRequest } from '@tidegate/protocol/unfixed-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { findUnfixed, type MitigationRow, setMitigation } from './list-store.ts';

const NONE: MitigationRow = { hook: null, note: null, mitigated_by: null, mitigated_at: null };

/**
 * Records which hook mitigates a vulnerability, or takes that back; false when no host has such a vulnerability.
 * It is a note: nothing runs, and nothing is approved or counted otherwise because of it.
 */
export async function noteMitigation(
  tx: Tx,
  platform: Platform,
  { id, mitigation, actor }: { id: string; mitigation: MitigationRequest | null; actor: string },
): Promise<boolean> {
  const before = await findUnfixed(tx, id);
  if (!before || before.gone_at !== null) return false;
  const after = mitigation ? { ...mitigation, mitigated_by: actor, mitigated_at: platform.now() } : NONE;
  await setMitigation(tx, id, after);
  const { vulnerability, distribution, package: name } = before;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'mitigation_noted', severity: 'info', component: 'security', actor },
    content: {
      ...{ actor, vulnerability, distribution, package: name },
      ...{ hook_before: before.hook, hook: after.hook, note: after.note },
    },
  });
  return true;
}
