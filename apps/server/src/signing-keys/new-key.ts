import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { insertKey, listKeys, type SigningKeyRow } from './store.ts';

export interface NewKey {
  keyId: string;
  publicKeyHex: string;
  /** Whether it signs from now on; only the very first key does immediately. */
  inUse: boolean;
}

/** Inserts an active key with the next version (R4). `firstKeySetVersion` 0 means that no key set has it yet. */
export async function insertNewKey(
  tx: Tx,
  platform: Pick<Platform, 'now'>,
  { key, firstKeySetVersion }: { key: NewKey; firstKeySetVersion: number },
): Promise<SigningKeyRow> {
  const [newest] = await listKeys(tx);
  const row: SigningKeyRow = {
    key_id: key.keyId,
    version: (newest?.version ?? 0) + 1,
    public_key_hex: key.publicKeyHex,
    status: 'active',
    created_at: platform.now(),
    revoked_at: null,
    in_use: key.inUse ? 1 : 0,
    first_key_set_version: firstKeySetVersion,
  };
  await insertKey(tx, row);
  return row;
}

/** The event of a new key; `how` is added to the members that name the key. */
export async function noteNewKey(
  tx: Tx,
  platform: Platform,
  {
    row,
    actor,
    how,
    isCritical = false,
  }: { row: SigningKeyRow; actor: string; how: Readonly<Record<string, unknown>>; isCritical?: boolean },
): Promise<void> {
  const { key_id, version, public_key_hex } = row;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'SIGNING_KEY_ADDED',
    severity: isCritical ? 'critical' : 'warning',
    component: 'signing_keys',
    actor,
    content: { key_id, version, public_key_hex, ...how },
  });
}
