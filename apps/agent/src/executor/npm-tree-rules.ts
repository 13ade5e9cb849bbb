import type { LockEntry } from '../ecosystems/npm/lockfile.ts';
import type { DiskPackage, DiskTree } from '../ecosystems/npm/tree.ts';

/** The first difference between a tree and the resolved one; null when they are equal. */
export function treeDifference(expected: ReadonlyMap<string, LockEntry>, disk: DiskTree): string | null {
  const [fault] = disk.faults;
  if (fault !== undefined) return fault;
  const [link] = disk.links;
  if (link !== undefined) return `${link} is a link`;
  for (const [location, { name, version }] of expected) {
    const found = disk.packages.get(location);
    if (found === undefined) return `${location} is not there`;
    if (found.name !== name || found.version !== version) {
      return `${location} is ${found.name} ${found.version}, not ${name} ${version}`;
    }
  }
  const extra = [...disk.packages.keys()].find((location) => !expected.has(location));
  return extra === undefined ? null : `${extra} is there as well`;
}

/** The packages below the top one of these locations, as a tree of its own; and all others. */
export function splitTree(disk: DiskTree, top: string): { own: DiskTree; others: DiskTree } {
  const isOwn = (location: string) => location === top || location.startsWith(`${top}/`);
  const part = (wanted: boolean): DiskTree => ({
    packages: new Map([...disk.packages].filter(([location]) => isOwn(location) === wanted)),
    links: new Set([...disk.links].filter((location) => isOwn(location) === wanted)),
    faults: disk.faults,
  });
  return { own: part(true), others: part(false) };
}

/** Whether two readings of a tree are the same packages at the same versions. */
export function isSameTree(a: DiskTree, b: DiskTree): boolean {
  return textOf(a) === textOf(b);
}

function textOf({ packages, links }: DiskTree): string {
  const said = ({ location, name, version }: DiskPackage) => `${location} ${name} ${version}`;
  return [...[...packages.values()].map(said), ...links].sort().join('\n');
}
