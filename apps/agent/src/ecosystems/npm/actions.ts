import type { PlanAction } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import { archOf, type NpmPlace } from './locations.ts';
import { findBundler, type LockEntry, type Parsed } from './lockfile.ts';
import type { Resolution } from './resolve.ts';
import type { DiskPackage } from './tree.ts';

/** Longest origin allowed by the schema, in characters. */
const ORIGIN_MAX_CHARS = 512;

/** An action with its lockfile entry, which names the file; null for a removal. */
export interface NpmAction {
  action: PlanAction;
  entry: LockEntry | null;
  /** The package whose file contains it; null when it has its own file. */
  bundler: LockEntry | null;
}

/**
 * Translates the difference between a place's current and future packages into sorted plan actions, without
 * artifacts. Bundled packages count like others (A1) and are reinstalled with the package around them.
 */
export function toActions(
  place: NpmPlace,
  { before, after, isRewritten }: Pick<Resolution, 'before' | 'after' | 'isRewritten'>,
): Parsed<NpmAction[]> {
  const actions: NpmAction[] = [];
  for (const [location, old] of before) {
    const now = after.get(location);
    if (now?.name === old.name) continue;
    const arch = archOf(place, old);
    if (arch === null)
      return { ok: false, reason: `the path of ${location} exceeds the length limit of a plan` };
    actions.push({
      entry: null,
      bundler: null,
      action: { action: 'remove', name: old.name, arch, from_version: old.version },
    });
  }
  for (const entry of after.values()) {
    if (entry.isLink) return { ok: false, reason: `${entry.location} is a link` };
    const bundler = entry.isBundled ? findBundler(after, entry.location) : null;
    const isUnpacked = isRewritten || (bundler !== null && isReplaced(bundler, before));
    const made = changeOf(entry, presentAt(entry, before), isUnpacked);
    if (!made.ok) return made;
    if (made.value === null) continue;
    if (entry.isBundled && bundler === null) {
      // The project's own bundles cannot be distinguished from those of its packages.
      return { ok: false, reason: `${entry.location} is bundled by the project itself` };
    }
    const arch = archOf(place, entry);
    if (arch === null)
      return { ok: false, reason: `the path of ${entry.location} exceeds the length limit of a plan` };
    const origin = originOf(entry) ?? (bundler && originOf(bundler));
    actions.push({ entry, bundler, action: { ...made.value, arch, ...(origin !== null && { origin }) } });
  }
  return { ok: true, value: actions.sort(byNameAndArch) };
}

/** The package at the location now; null when it has another name. */
function presentAt(
  { location, name }: LockEntry,
  before: ReadonlyMap<string, DiskPackage>,
): DiskPackage | null {
  const found = before.get(location);
  return found?.name === name ? found : null;
}

function isReplaced(entry: LockEntry, before: ReadonlyMap<string, DiskPackage>): boolean {
  return presentAt(entry, before)?.version !== entry.version;
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
  // The same version, reinstalled from the registry's file.
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
