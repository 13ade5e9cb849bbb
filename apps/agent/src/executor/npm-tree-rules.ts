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

/** The packages at and below these locations, as a tree of its own; and all others. */
export function splitTree(disk: DiskTree, tops: readonly string[]): { own: DiskTree; others: DiskTree } {
  const packages = splitPackages(disk.packages, tops);
  const isOwn = isBelow(tops);
  const part = (wanted: boolean): DiskTree => ({
    packages: wanted ? packages.own : packages.others,
    links: new Set([...disk.links].filter((location) => isOwn(location) === wanted)),
    faults: disk.faults,
  });
  return { own: part(true), others: part(false) };
}

export function splitPackages<T>(packages: ReadonlyMap<string, T>, tops: readonly string[]) {
  const isOwn = isBelow(tops);
  const part = (wanted: boolean) => new Map([...packages].filter(([location]) => isOwn(location) === wanted));
  return { own: part(true), others: part(false) };
}

function isBelow(tops: readonly string[]): (location: string) => boolean {
  return (location) => tops.some((top) => location === top || location.startsWith(`${top}/`));
}

/** Whether two readings of a tree are the same packages at the same versions. */
export function isSameTree(a: DiskTree, b: DiskTree): boolean {
  return textOf(a) === textOf(b);
}

function textOf({ packages, links }: DiskTree): string {
  const said = ({ location, name, version }: DiskPackage) => `${location} ${name} ${version}`;
  return [...[...packages.values()].map(said), ...links].sort().join('\n');
}
