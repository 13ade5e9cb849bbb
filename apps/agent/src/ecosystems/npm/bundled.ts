import type { Artifact, PlanAction } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import type { NpmAction } from './actions.ts';
import type { LockEntry, Parsed } from './lockfile.ts';
import { isSafeArgument } from './session.ts';
import { readTarball, type TarballFacts } from './tarball.ts';
import { Identity, parseLoosely } from './tree.ts';

/** The action members of a bundled package (decision 0011). */
export type BundledMembers = Required<Pick<PlanAction, 'source_name' | 'source_version' | 'artifact'>>;

/** A package of the plan with its own file. */
export interface Carrier {
  action: PlanAction;
  artifact: Artifact;
  /** Where the file lies. */
  path: string;
}

/**
 * Looks up bundled packages in the file of the package around them, which is authoritative. Fails when the file
 * contradicts the lockfile or the plan does not include the file.
 */
export async function findBundled(
  actions: readonly NpmAction[],
  carriers: ReadonlyMap<LockEntry, Carrier>,
): Promise<Parsed<Map<PlanAction, BundledMembers>>> {
  const found = new Map<PlanAction, BundledMembers>();
  const read = new Map<string, TarballFacts['bundled']>();
  for (const { action, entry, bundler } of actions) {
    if (entry === null || bundler === null) continue;
    const carrier = carriers.get(bundler);
    if (carrier?.action.to_version === undefined) {
      return { ok: false, reason: `${entry.location} is bundled in a file that is not in the plan` };
    }
    const { path, artifact, action: around } = carrier;
    if (!read.has(path)) {
      const tarball = await readTarball(path);
      if (!tarball.ok) return { ok: false, reason: `${around.name}: ${tarball.reason}` };
      read.set(path, tarball.facts.bundled);
    }
    const inside = read.get(path)?.get(entry.location.slice(bundler.location.length + 1));
    const said = inside === undefined ? null : identityIn(inside);
    if (said === null || said.name !== action.name || said.version !== action.to_version) {
      return {
        ok: false,
        reason: `the file of ${around.name} does not contain the expected ${entry.location}`,
      };
    }
    found.set(action, { source_name: around.name, source_version: carrier.action.to_version, artifact });
  }
  return { ok: true, value: found };
}

/** The package that a package.json names; null when name or version is unusable. */
export function identityIn(manifest: string): { name: string; version: string } | null {
  const value = parseLoosely(manifest);
  return Check(Identity, value) && isSafeArgument(value)
    ? { name: value.name, version: value.version }
    : null;
}
