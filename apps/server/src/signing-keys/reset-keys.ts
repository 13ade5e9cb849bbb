import type { SigningKey } from '@tidegate/signing/sign';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { issueKeySet } from './change-keys.ts';
import { insertKey, listKeys, lockFleet, newestKeySet, revokeEveryKey, type SigningKeyRow } from './store.ts';
import { claimedSet } from './vouched-keys.ts';

export type ResetOutcome = { kind: 'reset'; row: SigningKeyRow } | { kind: 'has_root' };

/**
 * Begins anew with a key that nothing vouches for, where every private half was lost and there is no root: all other
 * keys are revoked, and every host has to be enrolled again, for none of them believes the new key.
 */
export async function resetKeys(
  tx: Tx,
  platform: Platform,
  { key, actor }: { key: SigningKey; actor: string },
): Promise<ResetOutcome> {
  await lockFleet(tx);
  const now = platform.now();
  const stored = await newestKeySet(tx);
  const standing = claimedSet(stored);
  if (standing.root !== null) return { kind: 'has_root' };
  const [newest] = await listKeys(tx);
  await revokeEveryKey(tx, now);
  const row: SigningKeyRow = {
    key_id: key.keyId,
    version: (newest?.version ?? 0) + 1,
    public_key_hex: key.publicKeyHex,
    status: 'active',
    created_at: now,
    revoked_at: null,
    in_use: 1,
    first_key_set_version: (stored?.version ?? 0) + 1,
  };
  await insertKey(tx, row);
  await issueKeySet(tx, platform, { vouchers: [key], added: [row.key_id], standing });
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'SIGNING_KEY_ADDED',
    severity: 'critical',
    component: 'signing_keys',
    actor,
    content: {
      key_id: row.key_id,
      version: row.version,
      public_key_hex: row.public_key_hex,
      act: 'keys_reset',
    },
  });
  return { kind: 'reset', row };
}
