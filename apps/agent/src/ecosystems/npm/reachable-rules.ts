import { childOf, parentOf } from './locations.ts';
import { findBundler, type LockEntry, type Lockfile } from './lockfile.ts';

/** The platform that packages may require. `libc` is null when unknown. */
export interface Platform {
  os: string;
  cpu: string;
  libc: string | null;
}

export interface Omitted {
  development: boolean;
  optional: boolean;
}

/**
 * The locations that npm installs on this host from a lockfile, which lists packages for all platforms: those
 * reachable from the root, without optional packages for other platforms and their dependencies. Bundled packages
 * are included even when nothing requires them.
 */
export function reachable(
  lock: Pick<Lockfile, 'root' | 'entries'>,
  { platform, omitted }: { platform: Platform; omitted: Omitted },
): ReadonlySet<string> {
  const { root } = lock;
  const first = [
    ...root.required.keys(),
    ...root.peers.keys(),
    ...(omitted.development ? [] : root.development.keys()),
  ];
  return walk(lock, { platform, omitted }, [
    ...first.map((name) => ({ name, isOptional: false })),
    ...(omitted.optional ? [] : [...root.optional.keys()]).map((name) => ({ name, isOptional: true })),
  ]);
}

/** The same for a global package: npm omits its peer dependencies. */
export function reachableGlobally(
  lock: Pick<Lockfile, 'entries'>,
  { name, platform }: { name: string; platform: Platform },
): ReadonlySet<string> {
  const omitted = { development: true, optional: false };
  return walk(lock, { platform, omitted, peerlessAt: childOf('', name) }, [{ name, isOptional: false }]);
}

interface Wish {
  name: string;
  isOptional: boolean;
}

function walk(
  { entries }: Pick<Lockfile, 'entries'>,
  limits: { platform: Platform; omitted: Omitted; peerlessAt?: string },
  first: readonly Wish[],
): Set<string> {
  const reached = new Set<string>();
  const alongside = extraneousByBundler(entries);
  const open = first.map((wish) => ({ ...wish, from: '' }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const entry = resolve(entries, next.from, next.name);
    // npm omits unsuitable optional packages too, and reports unsuitable required ones itself.
    if (entry === null || (next.isOptional && !fits(entry, limits.platform))) continue;
    if (reached.has(entry.location)) continue;
    reached.add(entry.location);
    for (const location of alongside.get(entry.location) ?? []) reached.add(location);
    const { required, optional, peers } = entry.needs;
    const names = [...required.keys(), ...(entry.location === limits.peerlessAt ? [] : peers.keys())];
    open.push(...names.map((name) => ({ name, isOptional: false, from: entry.location })));
    if (limits.omitted.optional) continue;
    open.push(...[...optional.keys()].map((name) => ({ name, isOptional: true, from: entry.location })));
  }
  return reached;
}

/** npm unpacks everything in the tarball, required or not. */
function extraneousByBundler(entries: ReadonlyMap<string, LockEntry>): Map<string, string[]> {
  const found = [...entries.values()].filter(({ isBundled, isExtraneous }) => isBundled && isExtraneous);
  const grouped = Map.groupBy(found, ({ location }) => findBundler(entries, location)?.location ?? '');
  return new Map(
    [...grouped].map(([bundler, bundled]) => [bundler, bundled.map(({ location }) => location)]),
  );
}

/** Resolves as `require` does: in the package first, then in each folder above. */
function resolve(entries: ReadonlyMap<string, LockEntry>, from: string, name: string): LockEntry | null {
  for (let at = from; ; at = parentOf(at)) {
    const found = entries.get(childOf(at, name));
    if (found !== undefined) return found;
    if (at === '') return null;
  }
}

export function fits({ fits: { os, cpu, libc } }: Pick<LockEntry, 'fits'>, platform: Platform): boolean {
  if (!isListed(os, platform.os) || !isListed(cpu, platform.cpu)) return false;
  return libc === null || (platform.libc !== null && isListed(libc, platform.libc));
}

/** `!x` excludes x; other entries are the allowed values. */
function isListed(list: readonly string[] | null, value: string): boolean {
  if (list === null || list.length === 0 || (list.length === 1 && list[0] === 'any')) return true;
  if (list.includes(`!${value}`)) return false;
  const meant = list.filter((word) => !word.startsWith('!'));
  return meant.length === 0 || meant.includes(value);
}
