import type { HashAlgorithm } from '@tidegate/protocol/artifacts-api';
import { bundlersOf } from '@tidegate/protocol/bundles';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';

/**
 * Identity of an artifact across the fleet. npm: `name@version`. PyPI: also the file name, as wheels differ by platform.
 * apt and dnf: name, version and architecture within the distribution (`apt/debian`), because two distributions build the
 * same version separately; releases of one distribution share their archive. The agent: name, version and processor.
 */
export interface ArtifactIdentity {
  readonly scope: string;
  readonly name: string;
  readonly version: string;
  /** Architecture (apt, dnf, tidegate), file name (PyPI) or empty (npm). */
  readonly variant: string;
  /** Hashes are compared only with hashes of the same kind. */
  readonly algorithm: HashAlgorithm;
}

/** One artifact of a plan with the hash reported for it. */
export interface Sighting extends ArtifactIdentity {
  readonly ecosystem: Ecosystem;
  readonly hash: string;
  readonly origin: string | null;
  readonly url: string;
}

/** The part of a plan's host that determines artifact identities. */
export interface PlanHost {
  readonly osId: string;
  readonly osArch: string;
}

/**
 * Every artifact of a plan, once per kind of hash; removals have none. A bundled package is in the file of the package
 * around it, and its artifact is that file (decision 0011).
 */
export function sightingsOf(args: {
  ecosystem: Ecosystem;
  host: PlanHost;
  actions: readonly PlanAction[];
}): Sighting[] {
  const { ecosystem, host } = args;
  const found = new Map<string, Sighting>();
  const bundlers = bundlersOf(args);
  // The file of the version that an action replaces is an artifact too: a rollback would install it.
  for (const one of args.actions.flatMap((action) => [action, ...replacedBy(ecosystem, action)])) {
    const action = bundlers.get(one) ?? one;
    const { artifact, to_version: version } = action;
    if (!artifact || version === undefined) continue;
    const url = withoutSecrets(artifact.url);
    for (const algorithm of ['sha256', 'sha512'] as const) {
      const hash = artifact[algorithm];
      if (hash === undefined) continue;
      const sighting: Sighting = {
        ecosystem,
        scope: scopeOf(ecosystem, host),
        name: canonicalName(ecosystem, action.name),
        version,
        variant: variantOf(ecosystem, host, action),
        algorithm,
        hash,
        origin: action.origin ?? null,
        url,
      };
      found.set(`${identityKey(sighting)}\n${hash}`, sighting);
    }
  }
  return [...found.values()];
}

/**
 * What brings the replaced version, as an action. Its file has no name in the plan, which PyPI's ledger needs, and of npm
 * it may be that of the package around it: their old files are recorded with the plan of the rollback.
 */
function replacedBy(ecosystem: Ecosystem, { name, arch, from_version, back }: PlanAction): PlanAction[] {
  if (back === undefined || from_version === undefined) return [];
  if (ecosystem === 'pypi' || ecosystem === 'npm') return [];
  const artifact = { filename: '-', url: '-', ...back };
  return [
    { action: 'downgrade', name, to_version: from_version, artifact, ...(arch !== undefined && { arch }) },
  ];
}

export function identityKey({ scope, name, version, variant, algorithm }: ArtifactIdentity): string {
  return [scope, name, version, variant, algorithm].join('\n');
}

/** The kind of hash of a stored row. */
export function algorithmOf({ algorithm }: { readonly algorithm: string }): HashAlgorithm {
  return algorithm === 'sha512' ? 'sha512' : 'sha256';
}

/** The distribution of a scope; null for npm and PyPI, which have none. */
export function distributionOf(scope: string): string | null {
  const at = scope.indexOf('/');
  return at < 0 ? null : scope.slice(at + 1);
}

function scopeOf(ecosystem: Ecosystem, { osId }: PlanHost): string {
  return ecosystem === 'apt' || ecosystem === 'dnf' ? `${ecosystem}/${osId}` : ecosystem;
}

function variantOf(ecosystem: Ecosystem, { osArch }: PlanHost, { arch, artifact }: PlanAction): string {
  switch (ecosystem) {
    case 'npm':
      return '';
    case 'pypi':
      return artifact?.filename ?? '';
    case 'apt':
    case 'dnf':
    case 'tidegate':
      return arch ?? osArch;
  }
}

/** A mirror's URL may contain credentials, before the host or in its query; the ledger stores neither. */
function withoutSecrets(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return '';
  const { protocol, host, pathname } = parsed;
  return `${protocol}//${host}${pathname}`;
}
