import { ROOT_TYPE, ROOTS_MAX } from '@tidegate/protocol/root-document';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { issueKeySet, type Vouching } from './change-keys.ts';
import { namedRoot, type RootFault, readRoot, rootSigners } from './read-root.ts';
import { insertRoot, lockFleet, newestKeySet, rootsAfter } from './store.ts';
import { standingSet } from './vouched-keys.ts';

export type InstallRootOutcome =
  | { kind: 'installed'; version: number }
  | { kind: RootFault; signed: number; threshold: number }
  | { kind: 'wrong_fleet' | 'too_many' }
  | { kind: 'wrong_version'; expected: number }
  /** The current root has not signed its successor. */
  | { kind: 'not_vouched_for'; signed: number; threshold: number };

/**
 * Installs a root document: the first if its own keys signed it, each further one if a threshold of the old
 * and of the new did. A new key set names it, so that agents learn of it (decision 0006).
 */
export async function installRoot(
  tx: Tx,
  platform: Platform,
  { envelope, vouchers, actor }: Vouching & { envelope: unknown },
): Promise<InstallRootOutcome> {
  const fleet = await lockFleet(tx);
  const read = readRoot(envelope);
  if (!read.ok) return { kind: read.fault, signed: read.signed, threshold: read.threshold };
  const { payload, sha256 } = read.root;
  if (payload.fleet_id !== fleet.fleet_id) return { kind: 'wrong_fleet' };
  const standing = standingSet(await newestKeySet(tx), vouchers);
  const rows = await rootsAfter(tx, 0);
  const known = namedRoot(rows, standing.root);
  const expected = (standing.root?.version ?? 0) + 1;
  if (payload.version !== expected) return { kind: 'wrong_version', expected };
  if (expected > ROOTS_MAX) return { kind: 'too_many' };
  if (known) {
    const { threshold } = known.payload;
    const signed = rootSigners(known, envelope, ROOT_TYPE).length;
    if (signed < threshold) return { kind: 'not_vouched_for', signed, threshold };
  }
  await insertRoot(tx, {
    version: expected,
    envelope: JSON.stringify(read.root.envelope),
    installed_at: platform.now(),
  });
  await issueKeySet(tx, platform, { vouchers, root: { version: expected, sha256 } });
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'SIGNING_ROOT_CHANGED',
    severity: 'critical',
    component: 'signing_keys',
    actor,
    content: { version: expected, threshold: payload.threshold, keys: payload.keys, sha256 },
  });
  return { kind: 'installed', version: expected };
}
