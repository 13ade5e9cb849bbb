import type { SigningKey } from '@tidegate/signing/sign';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { issueKeySet } from './change-keys.ts';
import { insertNewKey, noteNewKey } from './new-key.ts';
import { lockFleet, newestKeySet, revokeEveryKey, type SigningKeyRow } from './store.ts';
import { claimedSet } from './vouched-keys.ts';

export type ResetOutcome = { kind: 'reset'; row: SigningKeyRow } | { kind: 'has_root' };

/**
 * Starts anew with a key that nothing vouches for, after every private half was lost and without a root. All
 * other keys are revoked, and every host has to enrol again, because none trusts the new key.
 */
export async function resetKeys(
  tx: Tx,
  platform: Platform,
  { key, actor }: { key: SigningKey; actor: string },
): Promise<ResetOutcome> {
  await lockFleet(tx);
  const stored = await newestKeySet(tx);
  const standing = claimedSet(stored);
  if (standing.root !== null) return { kind: 'has_root' };
  await revokeEveryKey(tx, platform.now());
  const row = await insertNewKey(tx, platform, {
    key: { keyId: key.keyId, publicKeyHex: key.publicKeyHex, inUse: true },
    firstKeySetVersion: (stored?.version ?? 0) + 1,
  });
  await issueKeySet(tx, platform, { vouchers: [key], added: [row.key_id], standing });
  await noteNewKey(tx, platform, { row, actor, how: { act: 'keys_reset' }, isCritical: true });
  return { kind: 'reset', row };
}
