import type { Platform } from '../platform/platform.ts';
import { issueKeySet } from '../signing-keys/change-keys.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { readMarks } from './store.ts';

/**
 * Issues a key set above the floor that a restore has set: agents may hold sets that the database has lost, and
 * accept only newer ones. Does nothing if the newest set is above the floor.
 */
export async function raiseKeySets(
  platform: Platform,
  keyRing: Pick<KeyRing, 'keySet' | 'vouchers' | 'reload'>,
): Promise<void> {
  const { key_set_floor: floor } = await readMarks(platform.database.read);
  if (keyRing.keySet().version > floor || floor === 0) return;
  await platform.database.transact((tx) =>
    issueKeySet(tx, platform, { vouchers: keyRing.vouchers(), above: floor }),
  );
  await keyRing.reload();
}
