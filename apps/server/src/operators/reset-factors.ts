import type { ResetEnds } from '@tidegate/protocol/operators-api';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { countFactors } from './codes/store.ts';
import { type Changer, type EndTokens, endAccess } from './end-access.ts';
import { methodsOf } from './factor-refusals.ts';
import { findOperator, type OperatorRow } from './store.ts';

/**
 * Removes all second factors of an operator who lost them: the password alone then logs in. The lost device may have
 * been used by somebody else, so sessions and API tokens end too, unless `keep` lists them.
 */
export async function resetFactors(
  platform: Platform,
  asked: {
    id: string;
    by: Changer;
    keep: readonly Exclude<ResetEnds, 'totp' | 'passkeys' | 'identities'>[];
    endTokens: EndTokens;
  },
): Promise<OperatorRow> {
  const { id, ...reset } = asked;
  return platform.database.transact(async (tx) => {
    const operator = await findOperator(tx, id);
    if (!operator) throw new Refusal('not_found', { detail: 'There is no such operator.' });
    if (methodsOf(await countFactors(tx, id)).length === 0) {
      throw new Refusal('conflict', { detail: 'This operator has no second factor.' });
    }
    // The accounts of an identity provider are no factors, and stay.
    await endAccess(tx, platform, { ...reset, keep: [...reset.keep, 'identities'], operator });
    return operator;
  });
}
