import { bundlersOf } from '@tidegate/protocol/bundles';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';
import { ageApplies, ageKey } from './subjects.ts';

/** One version as the fleet's ledger names it. */
export interface SeenVersion {
  readonly ecosystem: Ecosystem;
  /** The distribution, for apt and dnf: each builds its own version. Empty for npm and PyPI. */
  readonly scope: string;
  readonly name: string;
  readonly version: string;
  /** Empty for npm and PyPI, where `arch` is a place on one host (decision 0009). */
  readonly arch: string;
}

export interface FirstSeen {
  readonly package: string;
  readonly version: string;
  readonly atMs: number;
}

export function seenVersion(
  of: { ecosystem: Ecosystem; osId: string },
  { name, version, arch = '' }: { name: string; version: string; arch?: string | undefined },
): SeenVersion {
  const { ecosystem } = of;
  const isOfRegistry = ageApplies(ecosystem);
  return {
    ecosystem,
    scope: isOfRegistry ? '' : of.osId,
    name: canonicalName(ecosystem, name),
    version,
    arch: isOfRegistry ? '' : arch,
  };
}

export function seenKey({ ecosystem, scope, name, version, arch }: SeenVersion): string {
  return `${ecosystem}\n${scope}\n${name}\n${version}\n${arch}`;
}

/** Of these versions those that the fleet has seen, with when; `seen` is by `seenKey`. */
export function firstSeenOf(
  versions: readonly SeenVersion[],
  seen: ReadonlyMap<string, number>,
): FirstSeen[] {
  return versions.flatMap((one) => {
    const atMs = seen.get(seenKey(one));
    return atMs === undefined ? [] : [{ package: one.name, version: one.version, atMs }];
  });
}

/** The versions that a plan brings to its host and that are not there yet, each once. */
export function newVersions(args: {
  ecosystem: Ecosystem;
  osId: string;
  actions: readonly PlanAction[];
  installed: readonly { name: string; version: string }[];
}): SeenVersion[] {
  const { ecosystem } = args;
  const present = new Set(args.installed.map((one) => ageKey({ ecosystem, ...one })));
  return plannedVersions(args).filter((one) => !present.has(ageKey(one)));
}

/** The versions that a plan installs, each once; no bundled ones, which no registry lists (decision 0011). */
export function plannedVersions(args: {
  ecosystem: Ecosystem;
  osId: string;
  actions: readonly PlanAction[];
}): SeenVersion[] {
  const bundlers = bundlersOf(args);
  const versions = args.actions
    .filter((action) => action.action !== 'remove' && !bundlers.has(action))
    .map(({ name, to_version: version = '', arch }) => seenVersion(args, { name, version, arch }));
  return [...new Map(versions.map((one) => [seenKey(one), one])).values()];
}
