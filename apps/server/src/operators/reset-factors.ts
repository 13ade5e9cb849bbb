import { appendEvent } from '../events/append-event.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import type { Changer } from './change-operators.ts';
import { countFactors, deleteRecoveryCodes, deleteTotp } from './codes-store.ts';
import { methodsOf } from './factor-refusals.ts';
import { deletePasskeys } from './passkeys-store.ts';
import { findOperator, type OperatorRow, revokeOtherSessions } from './store.ts';

/**
 * Takes every second factor of an operator away, for whom lost them all: the password alone lets in again. It ends the
 * operator's sessions, but for the one that asks.
 */
export async function resetFactors(
  platform: Platform,
  { id, by }: { id: string; by: Changer },
): Promise<OperatorRow> {
  return platform.database.transact(async (tx) => {
    const operator = await findOperator(tx, id);
    if (!operator) throw new Refusal('not_found', { detail: 'There is no such operator.' });
    const counts = await countFactors(tx, id);
    if (methodsOf(counts).length === 0) {
      throw new Refusal('conflict', { detail: 'This operator has no second factor.' });
    }
    await deleteTotp(tx, id);
    await deletePasskeys(tx, id);
    await deleteRecoveryCodes(tx, id);
    await revokeOtherSessions(tx, { operatorId: id, keptSessionId: by.sessionId, nowMs: platform.now() });
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'FACTORS_RESET',
      severity: 'warning',
      component: 'operators',
      actor: by.username,
      content: {
        operator_id: id,
        username: operator.username,
        totp: counts.totp,
        passkeys: counts.passkeys,
      },
    });
    return operator;
  });
}
