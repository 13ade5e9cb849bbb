import type { PlanTarget } from '@tidegate/protocol/plan';
import { sha256Hex } from '../platform/sha256.ts';
import type { UpdateRow } from './store.ts';

/** Identifies a set of updates of one host by its members: SHA-256 of their ids in ascending order, a line each. */
export function setDigest(updateIds: readonly string[]): string {
  return sha256Hex(updateIds.toSorted().join('\n'));
}

/** Most updates that one event names. */
export const EVENT_UPDATES_MAX = 500;

/** Updates as an event names them: the first ones, and how many there are. */
export function namedForEvent(
  updates: readonly Pick<UpdateRow, 'id' | 'ecosystem' | 'name' | 'available_version'>[],
  count = updates.length,
) {
  const named = updates
    .slice(0, EVENT_UPDATES_MAX)
    .map(({ id, ecosystem, name, available_version: version }) => ({
      update_id: id,
      package: { ecosystem, name, version },
    }));
  return { updates: named, update_count: count };
}

/** What a plan has to reach for an update. */
export function targetOf(update: Pick<UpdateRow, 'name' | 'arch' | 'available_version'>): PlanTarget {
  return { name: update.name, arch: update.arch, to_version: update.available_version };
}

/** What resolves an update together with others: the package manager of its host, of npm and PyPI that of one place. */
export function managerOf({
  id,
  agent_id,
  ecosystem,
  arch,
  rollback_of,
}: Pick<UpdateRow, 'id' | 'agent_id' | 'ecosystem' | 'arch' | 'rollback_of'>): string {
  // A rollback is exactly the opposite of one installation: nothing is planned together with it.
  if (rollback_of !== null) return id;
  const hasPlaces = ecosystem === 'npm' || ecosystem === 'pypi';
  return hasPlaces ? `${agent_id} ${ecosystem} ${arch}` : `${agent_id} ${ecosystem}`;
}
