import type { Change } from './changes-store.ts';
import { type InstalledKey, installedKey } from './identity.ts';

/** A package of a host, by the number of its identity. */
interface Numbered extends InstalledKey {
  readonly package_id: number;
  readonly held: number;
}

/**
 * What the writes of one call remove, and their changes: what goes alone, then what another takes the place of, then what comes
 * alone, so that a version that goes and comes is recorded in this order. A new version takes the place of one that goes.
 */
export function changesOf<P extends Numbered>({
  stored,
  gone,
  put,
}: {
  /** What the host has of the keys of the others, by key. */
  stored: ReadonlyMap<string, P>;
  gone: readonly InstalledKey[];
  put: readonly Numbered[];
}): { removed: P[]; changes: Change[] } {
  const goneKeys = new Set(gone.map(installedKey));
  const removed = [...goneKeys].flatMap((key) => stored.get(key) ?? []);
  const free = Map.groupBy(removed, placeOf);
  const [alone, replaced, come]: [Change[], Change[], Change[]] = [[], [], []];
  for (const one of put) {
    const { package_id: packageId, held } = one;
    const isBack = goneKeys.has(installedKey(one));
    const same = isBack ? undefined : stored.get(installedKey(one));
    if (same?.package_id === packageId) {
      if (same.held !== held) come.push({ packageId, change: 'held', held });
      continue;
    }
    if (same) removed.push(same);
    const before = same ?? (isBack ? undefined : free.get(placeOf(one))?.shift());
    if (before?.held === held) {
      replaced.push({ packageId, change: 'added', held, replacedId: before.package_id });
    } else {
      if (before) alone.push(removalOf(before));
      come.push({ packageId, change: 'added', held });
    }
  }
  alone.push(...[...free.values()].flat().map(removalOf));
  return { removed, changes: [...alone, ...replaced, ...come] };
}

function removalOf({ package_id, held }: Numbered): Change {
  return { packageId: package_id, change: 'removed', held };
}

function placeOf({ name, arch }: Pick<InstalledKey, 'name' | 'arch'>): string {
  return `${name}\n${arch}`;
}
