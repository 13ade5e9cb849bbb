import type { SigningKeyEntry } from '@tidegate/protocol/documents';
import { loadTrustedKey } from '@tidegate/signing/verify';
import type { CheckpointKeys } from './open-checkpoint.ts';

/** The keys of a key set that was verified, and more that are known; throws `KeyError` for one that is none. */
export function checkpointKeys(
  entries: readonly SigningKeyEntry[],
  more: readonly { keyId: string; publicKeyHex: string }[] = [],
): CheckpointKeys {
  const all = new Map(more.map((key) => [key.keyId, key]));
  const revokedAtMs = new Map<string, number>();
  for (const { key_id: keyId, public_key_hex: publicKeyHex, status, revoked_at } of entries) {
    all.set(keyId, { keyId, publicKeyHex });
    if (status === 'revoked') revokedAtMs.set(keyId, revoked_at === null ? 0 : Date.parse(revoked_at));
  }
  return { keys: [...all.values()].map(loadTrustedKey), revokedAtMs };
}
