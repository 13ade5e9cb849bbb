import type { PlanAction } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import { archOf, type NpmPlace } from './locations.ts';
import type { LockEntry, Parsed } from './lockfile.ts';
import type { Resolution } from './resolve.ts';
import type { DiskPackage } from './tree.ts';

/** Longest origin that the wire takes. */
const ORIGIN_MAX_CHARS = 512;

/** An action with the entry that it comes from, which knows the file; null for a removal. */
export interface NpmAction {
  action: PlanAction;
  entry: LockEntry | null;
}

/**
 * Says the difference between what a place has and what it will have in the words of a plan, sorted, without
 * artifacts. Bundled packages are part of the file of the package around them and have no action of their own.
 */
export function toActions(
  place: NpmPlace,
  { before, after, isRewritten }: Omit<Resolution, 'project'>,
): Parsed<NpmAction[]> {
  const actions: NpmAction[] = [];
  for (const [location, old] of before) {
    const now = after.get(location);
    if (now !== undefined && (now.name === old.name || now.isBundled)) continue;
    const arch = archOf(place, old);
    if (arch === null) return { ok: false, reason: `the path of ${location} is longer than a plan takes` };
    actions.push({
      entry: null,
      action: { action: 'remove', name: old.name, arch, from_version: old.version },
    });
  }
  for (const entry of after.values()) {
    if (entry.isBundled) continue;
    if (entry.isLink) return { ok: false, reason: `${entry.location} is a link` };
    const found = before.get(entry.location);
    const made = changeOf(entry, found?.name === entry.name ? found : null, isRewritten);
    if (!made.ok) return made;
    if (made.value === null) continue;
    const arch = archOf(place, entry);
    if (arch === null)
      return { ok: false, reason: `the path of ${entry.location} is longer than a plan takes` };
    const origin = originOf(entry);
    actions.push({ entry, action: { ...made.value, arch, ...(origin !== null && { origin }) } });
  }
  return { ok: true, value: actions.sort(byNameAndArch) };
}

function changeOf(
  entry: LockEntry,
  old: DiskPackage | null,
  isRewritten: boolean,
): Parsed<PlanAction | null> {
  const { name, version: to } = entry;
  if (to === null) return { ok: false, reason: `${entry.location} has no version` };
  const versions = { name, ...(old !== null && { from_version: old.version }), to_version: to };
  if (old === null) return { ok: true, value: { action: 'install', ...versions } };
  // The same version, put there anew from the registry's file.
  if (old.version === to) return { ok: true, value: isRewritten ? { action: 'install', ...versions } : null };
  const order = compareVersions('npm', old.version, to);
  if (order === 'undecidable') {
    return { ok: false, reason: `${name}: ${old.version} and ${to} cannot be ordered` };
  }
  return { ok: true, value: { action: order === 1 ? 'downgrade' : 'upgrade', ...versions } };
}

/** The registry that a package was resolved from; null where that is not known. */
export function originOf({ resolved }: Pick<LockEntry, 'resolved'>): string | null {
  if (resolved === null || !URL.canParse(resolved)) return null;
  const { protocol, host } = new URL(resolved);
  if (protocol !== 'http:' && protocol !== 'https:') return null;
  return `${protocol}//${host}/`.slice(0, ORIGIN_MAX_CHARS);
}

function byNameAndArch({ action: a }: NpmAction, { action: b }: NpmAction): number {
  const [left, right] = [`${a.name}:${a.arch}`, `${b.name}:${b.arch}`];
  return left < right ? -1 : left > right ? 1 : 0;
}
