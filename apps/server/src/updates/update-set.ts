import type { PlanTarget } from '@tidegate/protocol/plan';
import { sha256Hex } from '../platform/sha256.ts';
import type { UpdateRow } from './store.ts';

/** Identifies a set of updates of one host by its members: SHA-256 of their ids in ascending order, a line each. */
export function setDigest(updateIds: readonly string[]): string {
  return sha256Hex(updateIds.toSorted().join('\n'));
}

/** What a plan has to reach for an update. */
export function targetOf(update: Pick<UpdateRow, 'name' | 'arch' | 'available_version'>): PlanTarget {
  return { name: update.name, arch: update.arch, to_version: update.available_version };
}
