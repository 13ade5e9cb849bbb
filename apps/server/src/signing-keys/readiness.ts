import { KEY_CHAIN_MAX, KEYSET_TYPE } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { KeyError, loadTrustedKey, signersOf, type TrustedKey } from '@tidegate/signing/verify';
import type { Db } from '../platform/db/engine.ts';
import { namedRoot, rootSigners } from './read-root.ts';
import {
  type KeySetRow,
  keySetsAfter,
  newestKeySet,
  type RootRow,
  rootsAfter,
  type SigningKeyRow,
} from './store.ts';
import { claimedSet } from './vouched-keys.ts';

/**
 * The oldest version from which stored key sets lead to the newest: a host at it, or later, recovers by
 * itself after any revocation. It is the newest if the previous set does not vouch for it. 0 without any set.
 */
export async function chainStart(db: Db): Promise<number> {
  const newest = await newestKeySet(db);
  if (!newest) return 0;
  const after = Math.max(0, newest.version - KEY_CHAIN_MAX - 1);
  const sets = await keySetsAfter(db, { version: after, limit: KEY_CHAIN_MAX + 1 });
  const roots = await rootsAfter(db, 0);
  let start = newest;
  for (const before of sets.slice(0, -1).reverse()) {
    if (!vouchesFor(before, start, roots)) break;
    start = before;
  }
  return start.version;
}

/**
 * The oldest key set that a host may have when a key is revoked. A host with an older one neither knows the
 * active key nor reaches the newest set, and would have to enrol again.
 */
export async function leastKeySet(db: Db, inUse: SigningKeyRow | undefined): Promise<number> {
  return Math.min(await chainStart(db), inUse?.first_key_set_version ?? 0);
}

/** Why a revocation is refused without force; `count` is at least 1. */
export function strandingFault(count: number): string {
  const agents = count === 1 ? '1 agent holds' : `${count} agents hold`;
  return `${agents} a key set without the key in use, and no stored key set continues from it: a revocation would make a new enrolment necessary`;
}

/** Whether a key that one set declares active signed the next, or the root did that hosts know by then. */
function vouchesFor(before: KeySetRow, next: KeySetRow, roots: readonly RootRow[]): boolean {
  const envelope = parseStrictJson(next.envelope);
  if (!envelope.ok) return false;
  const known = claimedSet(before);
  const active = [...known.entries.values()].filter(({ status }) => status === 'active');
  const keys = active.flatMap(({ key_id, public_key_hex }) => usable(key_id, public_key_hex));
  if (signersOf(envelope.value, keys, KEYSET_TYPE).length > 0) return true;
  const root = known.root && namedRoot(roots, claimedSet(next).root);
  return root !== null && rootSigners(root, envelope.value, KEYSET_TYPE).length >= root.payload.threshold;
}

function usable(keyId: string, publicKeyHex: string): TrustedKey[] {
  try {
    return [loadTrustedKey({ keyId, publicKeyHex })];
  } catch (error) {
    if (error instanceof KeyError) return [];
    throw error;
  }
}
