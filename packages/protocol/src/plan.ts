import { type Static, Type } from 'typebox';
import {
  Count,
  KeyFingerprint,
  PackageName,
  PackageVersion,
  Sha256Hex,
  Sha512Hex,
  ShortText,
  strict,
  Timestamp,
} from './scalars.ts';

/** Most actions that one plan may hold. */
export const PLAN_MAX_ACTIONS = 5_000;

export const Artifact = strict({
  filename: Type.String({ minLength: 1, maxLength: 512, pattern: '^[^/\\x00-\\x1f]+$' }),
  url: Type.String({ minLength: 1, maxLength: 2_048 }),
  size_bytes: Count,
  sha256: Type.Optional(Sha256Hex),
  sha512: Type.Optional(Sha512Hex),
});
export type Artifact = Static<typeof Artifact>;

/**
 * The file of the version that an action replaces or removes: what the host would need to go back. `sha256` is that of
 * the signed index, or of the file that the host keeps.
 */
export const ReplacedFile = strict({ size_bytes: Count, sha256: Sha256Hex });
export type ReplacedFile = Static<typeof ReplacedFile>;

export const PlanActionKind = Type.Enum(['install', 'upgrade', 'downgrade', 'remove']);

export const PlanAction = strict({
  action: PlanActionKind,
  name: PackageName,
  arch: Type.Optional(ShortText),
  from_version: Type.Optional(PackageVersion),
  to_version: Type.Optional(PackageVersion),
  source_name: Type.Optional(PackageName),
  source_version: Type.Optional(PackageVersion),
  origin: Type.Optional(Type.String({ maxLength: 512 })),
  /** The OpenPGP key that signed the repository, as the host verified it; a statement of this host about itself. */
  origin_key: Type.Optional(KeyFingerprint),
  artifact: Type.Optional(Artifact),
  /** Absent: the host does not know where to get it. */
  back: Type.Optional(ReplacedFile),
});
export type PlanAction = Static<typeof PlanAction>;

/** What a package manager would do: the closure with a hash for every artifact. */
export const Plan = strict({
  resolved_at: Timestamp,
  actions: Type.Array(PlanAction, { minItems: 1, maxItems: PLAN_MAX_ACTIONS }),
});
export type Plan = Static<typeof Plan>;

export interface PlanFault {
  path: string;
  message: string;
}

/**
 * Rules of a plan that a schema cannot express: an artifact with a hash on everything but a removal, no package
 * named twice, and no two artifacts under one file name. Returns the faults, empty when the plan is sound.
 */
export function planFaults(plan: Plan): PlanFault[] {
  const faults: PlanFault[] = [];
  const seen = new Set<string>();
  const files = new Map<string, Artifact>();
  for (const [index, action] of plan.actions.entries()) {
    const path = `/actions/${index}`;
    const key = `${action.name}:${action.arch ?? ''}`;
    if (seen.has(key)) faults.push({ path, message: `"${key}" stands in the plan twice` });
    seen.add(key);
    if (action.back && action.from_version === undefined) {
      faults.push({ path: `${path}/back`, message: 'is the file of a version that is replaced' });
    }
    if (action.action === 'remove') {
      if (action.artifact) faults.push({ path: `${path}/artifact`, message: 'a removal has no artifact' });
      continue;
    }
    if (!action.to_version) faults.push({ path: `${path}/to_version`, message: 'is required' });
    if (!action.artifact) {
      faults.push({ path: `${path}/artifact`, message: 'is required for everything but a removal' });
    } else if (!action.artifact.sha256 && !action.artifact.sha512) {
      faults.push({ path: `${path}/artifact`, message: 'needs sha256 or sha512' });
    } else {
      const { filename } = action.artifact;
      const named = files.get(filename) ?? action.artifact;
      files.set(filename, named);
      if (!isSameArtifact(named, action.artifact)) {
        faults.push({ path: `${path}/artifact`, message: `"${filename}" is the name of another artifact` });
      }
    }
  }
  return faults;
}

/** Whether two artifacts are one file from one address. */
export function isSameArtifact(a: Artifact, b: Artifact): boolean {
  return (
    a.filename === b.filename &&
    a.url === b.url &&
    a.size_bytes === b.size_bytes &&
    a.sha256 === b.sha256 &&
    a.sha512 === b.sha512
  );
}

/** An update, as far as a plan has to bring it about. An empty or absent `arch` matches any. */
export interface PlanTarget {
  readonly name: string;
  readonly arch?: string | undefined;
  readonly to_version: string;
}

/** The targets that no action brings to their version. Linear, however many there are. */
export function missedTargets<T extends PlanTarget>(
  { actions }: Pick<Plan, 'actions'>,
  targets: readonly T[],
): T[] {
  const byVersion = Map.groupBy(actions, ({ name, to_version }) => `${name}\n${to_version ?? ''}`);
  return targets.filter((target) => {
    const reaching = byVersion.get(`${target.name}\n${target.to_version}`) ?? [];
    return !reaching.some((action) => isSameArch(action.arch, target.arch));
  });
}

/** A package may move between `all` and an architecture from one version to the next; an empty or absent one matches any. */
export function isSameArch(a = '', b = ''): boolean {
  return a === b || [a, b].some((arch) => arch === '' || arch === 'all' || arch === 'noarch');
}

/** The fault of a plan that does not bring its package to the requested version; null when it does. */
export function targetFault(plan: Pick<Plan, 'actions'>, target: PlanTarget): PlanFault | null {
  return missedTargets(plan, [target]).length === 0
    ? null
    : { path: '/actions', message: 'do not bring the package to the version of the update' };
}
