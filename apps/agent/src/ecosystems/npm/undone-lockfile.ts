import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { integrityOf } from './integrity.ts';
import { locationIn, splitLocation } from './locations.ts';
import type { Parsed } from './lockfile.ts';
import type { StagedPackage } from './staged.ts';

const Document = Type.Object({ packages: Type.Record(Type.String(), Type.Unknown()) });
/** What a lockfile repeats of a package.json, because npm resolves and links by it. */
const MEMBERS = [
  ...['dependencies', 'optionalDependencies', 'peerDependencies', 'peerDependenciesMeta'],
  ...['bundleDependencies', 'engines', 'os', 'cpu', 'libc', 'license'],
];

export interface Undoing {
  readonly actions: readonly RollbackAction[];
  /** The packages that the actions bring, as their files say. */
  readonly staged: readonly StagedPackage[];
}

/**
 * The lockfile of a project as it was before an installation: each location of the actions with its old version, or without
 * its new one. Without these entries npm would keep newer dependencies that still fit; with them it has nothing to resolve.
 */
export function undoneLockfile(
  text: string,
  place: { path: string },
  { actions, staged }: Undoing,
): Parsed<string> {
  const json = parseStrictJson(text);
  if (!json.ok || !Check(Document, json.value)) return { ok: false, reason: 'the lockfile cannot be read' };
  // Version 2 repeats everything in a form that npm reads only where this one is lacking.
  const { dependencies: _, ...document } = { dependencies: null, ...json.value };
  const packages = new Map(Object.entries(document.packages));
  // Of a project that seems changed npm finds out anew which packages are for development, and it reads the real one.
  packages.set('', {});
  for (const action of actions) {
    const location = locationIn({ kind: 'project', ...place }, action);
    if (location === null) return { ok: false, reason: `${action.arch} is not a location of ${place.path}` };
    if (action.to_version === undefined) {
      packages.delete(location);
      continue;
    }
    const entry = entryOf({ name: action.name, version: action.to_version, location }, staged);
    if (entry === null)
      return { ok: false, reason: `the file of ${action.name} ${action.to_version} is missing` };
    packages.set(location, entry);
  }
  return { ok: true, value: JSON.stringify({ ...document, packages: Object.fromEntries(packages) }) };
}

function entryOf(
  { name, version, location }: { name: string; version: string; location: string },
  staged: readonly StagedPackage[],
): Record<string, unknown> | null {
  const alias = splitLocation(location)?.at(-1) === name ? {} : { name };
  const own = staged.find((pkg) => pkg.name === name && pkg.version === version);
  if (own !== undefined) {
    const { manifest, artifact, hasScripts, hasShrinkwrap } = own;
    return {
      ...{ ...alias, version, resolved: artifact.url, integrity: integrityOf(artifact.sha512) },
      ...membersOf(name, manifest),
      ...(hasScripts && { hasInstallScript: true }),
      ...(hasShrinkwrap && { hasShrinkwrap: true }),
    };
  }
  const inside = staged.flatMap(({ bundled }) => bundled).find(({ key }) => key === `${name}@${version}`);
  return inside === undefined
    ? null
    : { ...alias, version, inBundle: true, ...membersOf(name, inside.manifest) };
}

/** A program that is named by its path alone has the name of the package. */
function membersOf(name: string, manifest: Record<string, unknown>): Record<string, unknown> {
  const { bin } = manifest;
  const programs = typeof bin === 'string' ? { [name.replace(/^.*\//, '')]: bin } : bin;
  return {
    ...Object.fromEntries(Object.entries(manifest).filter(([key]) => MEMBERS.includes(key))),
    ...(programs !== undefined && { bin: programs }),
  };
}
