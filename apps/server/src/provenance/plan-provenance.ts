import { bundlersOf } from '@tidegate/protocol/bundles';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';
import type { Db } from '../platform/db/engine.ts';
import { type AgedEcosystem, ageApplies, ageKey } from '../release-times/subjects.ts';
import {
  isDropped,
  isSettled,
  type Provenance,
  type ProvenanceSubject,
  provenanceKey,
} from './provenance-rules.ts';
import { readProvenances } from './store.ts';

/** Provenance of one version that a plan brings. */
export interface PackageProvenance extends Provenance {
  readonly package: string;
  readonly version: string;
  /** Whether the version on the host had it. */
  readonly dropped: boolean;
}

export interface ProvenancePlan {
  readonly ecosystem: Ecosystem;
  readonly actions: readonly PlanAction[];
  readonly installed: readonly { name: string; version: string }[];
}

export interface PlanProvenance {
  readonly packages: readonly PackageProvenance[];
  /** Unknown or outdated subjects, to be fetched in the background. */
  readonly missing: readonly ProvenanceSubject[];
}

interface Pair {
  readonly after: ProvenanceSubject;
  readonly before: ProvenanceSubject | null;
}

/** Stored provenance of the versions that plans bring to their hosts, in the given order. */
export async function readPlanProvenances(
  db: Db,
  plans: readonly ProvenancePlan[],
  nowMs: number,
): Promise<PlanProvenance[]> {
  const pairs = plans.map(pairsOf);
  const subjects = pairs.flat().flatMap(({ after, before }) => (before ? [after, before] : [after]));
  const known = new Map<string, Provenance & { fetchedAtMs: number }>();
  for (const ecosystem of ['npm', 'pypi'] as const) {
    const names = subjects.filter((one) => one.ecosystem === ecosystem).map(({ name }) => name);
    for (const row of names.length === 0 ? [] : await readProvenances(db, { ecosystem, names })) {
      const { source_repository: sourceRepository, builder, status, fetched_at: fetchedAtMs } = row;
      const key = `${ecosystem}\n${row.name}\n${row.version}\n${row.artifact}`;
      known.set(key, { status, sourceRepository, builder, fetchedAtMs });
    }
  }
  return pairs.map((some) => judgePairs(some, known, nowMs));
}

function judgePairs(
  pairs: readonly Pair[],
  known: ReadonlyMap<string, Provenance & { fetchedAtMs: number }>,
  nowMs: number,
): PlanProvenance {
  const missing: ProvenanceSubject[] = [];
  const read = (subject: ProvenanceSubject) => {
    const said = known.get(provenanceKey(subject));
    if (!said || !isSettled(said, nowMs)) missing.push(subject);
    return said;
  };
  const packages = pairs.map(({ after, before }) => {
    const { status, sourceRepository, builder } = read(after) ?? UNKNOWN;
    const was = before ? read(before)?.status : undefined;
    const dropped = isDropped(was, status);
    return { package: after.name, version: after.version, status, sourceRepository, builder, dropped };
  });
  return { packages, missing };
}

const UNKNOWN = { status: 'unknown', sourceRepository: null, builder: null } as const;

/** Each version new to the host, with the one it replaces; a bundled version has its bundler's provenance. */
function pairsOf({ ecosystem, actions, installed }: ProvenancePlan): Pair[] {
  if (!ageApplies(ecosystem)) return [];
  const present = new Set(installed.map((one) => ageKey({ ecosystem, ...one })));
  const pairs = new Map<string, Pair>();
  const bundlers = bundlersOf({ ecosystem, actions });
  for (const action of actions) {
    const after = bundlers.has(action) ? null : subjectAfter(ecosystem, action);
    if (!after || present.has(ageKey(after))) continue;
    const { from_version: version } = action;
    const before = version === undefined ? null : { ...after, version, artifact: null };
    pairs.set(provenanceKey(after), { after, before });
  }
  return [...pairs.values()];
}

function subjectAfter(ecosystem: AgedEcosystem, action: PlanAction): ProvenanceSubject | null {
  const { name, to_version: version, artifact } = action;
  if (action.action === 'remove' || version === undefined || !artifact) return null;
  const { filename, sha256, sha512 } = artifact;
  const hash = sha512 ? ({ algorithm: 'sha512', hex: sha512 } as const) : null;
  const weaker = sha256 ? ({ algorithm: 'sha256', hex: sha256 } as const) : null;
  // npm attests sha512, PyPI sha256; a statement never has the other kind.
  const own = ecosystem === 'npm' ? (hash ?? weaker) : (weaker ?? hash);
  return (
    own && { ecosystem, name: canonicalName(ecosystem, name), version, artifact: { filename, hash: own } }
  );
}
