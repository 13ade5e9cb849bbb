import type { Lockfile } from './lockfile.ts';
import { type Omitted, type Platform, reachable } from './reachable-rules.ts';
import type { DiskTree } from './tree.ts';

/** Maximum number of faults named in a reason. */
const NAMED_MAX = 5;

/** The kinds of dependencies omitted at installation: those with no package on disk. */
export function findOmitted(lock: Lockfile, disk: Pick<DiskTree, 'packages'>, platform: Platform): Omitted {
  const all = reachable(lock, { platform, omitted: { development: false, optional: false } });
  const isAbsent = (omitted: Omitted) => {
    const rest = reachable(lock, { platform, omitted });
    const only = [...all].filter((location) => !rest.has(location));
    return only.length > 0 && only.every((location) => !disk.packages.has(location));
  };
  return {
    development: isAbsent({ development: true, optional: false }),
    optional: isAbsent({ development: false, optional: true }),
  };
}

/** Differences between disk and lockfile: packages that are missing, different or not listed. */
export function findProjectFaults(
  lock: Lockfile,
  disk: DiskTree,
  host: { platform: Platform; omitted: Omitted },
): string[] {
  const faults: string[] = [];
  for (const location of reachable(lock, host)) {
    const entry = lock.entries.get(location);
    if (entry === undefined || entry.isLink || disk.links.has(location)) continue;
    const found = disk.packages.get(location);
    if (found === undefined) faults.push(`${location} is not installed`);
    else if (found.name !== entry.name || found.version !== entry.version) {
      faults.push(`${location} is ${found.name} ${found.version}, not ${entry.name} ${entry.version}`);
    }
  }
  for (const location of disk.packages.keys()) {
    if (!lock.entries.has(location)) faults.push(`${location} is not in the lockfile`);
  }
  if (faults.length <= NAMED_MAX) return faults;
  return [...faults.slice(0, NAMED_MAX), `and ${faults.length - NAMED_MAX} more`];
}
