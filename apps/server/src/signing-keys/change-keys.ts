import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { KEY_SET_LIFETIME_MS, signKeySet, type Vouchers } from './key-set.ts';
import { insertNewKey, type NewKey, noteNewKey } from './new-key.ts';
import {
  insertKeySet,
  listKeys,
  lockFleet,
  newestKeySet,
  revokeKey,
  type SigningKeyRow,
  setKeyInUse,
} from './store.ts';
import { claimedSet, nextEntries, type StandingSet, standingSet } from './vouched-keys.ts';

/** The private halves that sign the new key set: no key enters unvouched (reading 11). */
export interface Vouching {
  vouchers: Vouchers;
  actor: string;
}

/**
 * Adds a key with the next version and issues the key set that vouches for it. With a root the key waits
 * until the root's holders sign a set with it (`installKeySet`).
 */
export async function addKey(
  tx: Tx,
  platform: Platform,
  { key, vouchers, actor }: Vouching & { key: NewKey },
): Promise<SigningKeyRow> {
  await lockFleet(tx);
  const stored = await newestKeySet(tx);
  // Also if no voucher signed that set: then only the root can introduce a key.
  const awaitsRoot = claimedSet(stored).root !== null;
  const firstKeySetVersion = awaitsRoot ? 0 : (stored?.version ?? 0) + 1;
  const row = await insertNewKey(tx, platform, { key, firstKeySetVersion });
  if (!awaitsRoot) await issueKeySet(tx, platform, { vouchers, added: [row.key_id] });
  await noteNewKey(tx, platform, { row, actor, how: { awaits_root: awaitsRoot } });
  return row;
}

export type RevokeOutcome = 'revoked' | 'unknown' | 'already_revoked' | 'in_use';

/** Revokes a key that is not in use; the one in use is always active, so the last active key cannot go. */
export async function revokeVersion(
  tx: Tx,
  platform: Platform,
  { version, vouchers, actor }: Vouching & { version: number },
): Promise<RevokeOutcome> {
  await lockFleet(tx);
  const key = (await listKeys(tx)).find((row) => row.version === version);
  if (!key) return 'unknown';
  if (key.in_use === 1) return 'in_use';
  if (!(await revokeKey(tx, { keyId: key.key_id, now: platform.now() }))) return 'already_revoked';
  await issueKeySet(tx, platform, { vouchers });
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'SIGNING_KEY_REVOKED',
    severity: 'warning',
    component: 'signing_keys',
    actor,
    content: { key_id: key.key_id, version },
  });
  return 'revoked';
}

/**
 * Makes this key the signing key; `vouchers` start with it. The newest key set then has its signature, so the
 * server can tell that set from one inserted by hand, whichever keys it holds later.
 */
export async function putKeyInUse(
  tx: Tx,
  platform: Platform,
  vouchers: Vouchers,
): Promise<'in_use' | 'not_active'> {
  await lockFleet(tx);
  const [{ keyId }] = vouchers;
  const key = (await listKeys(tx)).find((row) => row.key_id === keyId);
  if (key?.status !== 'active') return 'not_active';
  if (key.in_use === 1) return 'in_use';
  await setKeyInUse(tx, keyId);
  await issueKeySet(tx, platform, { vouchers });
  return 'in_use';
}

/** The contents of the next key set, besides the current keys. */
export interface NextKeySet {
  vouchers: Vouchers;
  /** Keys that the previous set need not have. */
  added?: readonly string[];
  /** The root that the set names; default: the previous one. */
  root?: StandingSet['root'];
  /** Versions up to here are taken, because a restored database may have lost some. */
  above?: number;
  /** The claims of the previous set if no voucher signed it; only for `resetKeys`. */
  standing?: StandingSet;
}

/** Signs the current keys, with the next version. */
export async function issueKeySet(tx: Tx, platform: Platform, next: NextKeySet): Promise<void> {
  const { vouchers, added = [] } = next;
  const fleet = await lockFleet(tx);
  const now = platform.now();
  const newest = await newestKeySet(tx);
  const version = Math.max(newest?.version ?? 0, next.above ?? 0) + 1;
  const { entries, root: before } = next.standing ?? standingSet(newest, vouchers);
  const root = next.root ?? before;
  const known = { entries, held: vouchers, hasRoot: before !== null };
  const keys = nextEntries(await listKeys(tx), { ...known, added });
  const envelope = signKeySet(vouchers, { fleetId: fleet.fleet_id, version, keys, root, now });
  await insertKeySet(tx, {
    version,
    envelope: JSON.stringify(envelope),
    signed_by: vouchers[0].keyId,
    issued_at: now,
    expires_at: now + KEY_SET_LIFETIME_MS,
  });
}
