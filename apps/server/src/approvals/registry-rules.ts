import { type AgedEcosystem, type AgeSubject, timeKey } from '../release-times/subjects.ts';
import type { HashStanding } from '../release-times/time-rules.ts';

/** An artifact of the plan that its registry does not have: another file of that version, or no such version. */
export interface UnknownArtifact {
  readonly package: string;
  readonly version: string;
  readonly algorithm: 'sha256' | 'sha512';
  readonly hash: string;
  readonly source: string;
}

/** The registries' answers about the hashes of a plan, whatever the mode of the age gate. */
export interface RegistryFacts {
  readonly contradicted: readonly UnknownArtifact[];
  /** A registry has not answered yet, and is not known to be down. */
  readonly pending: boolean;
}

/** apt and dnf: the archive's signed index binds the hashes, and the host verifies it. */
export const NO_REGISTRY: RegistryFacts = { contradicted: [], pending: false };

/** The algorithm of each ecosystem's registry. */
const ALGORITHMS = { npm: 'sha512', pypi: 'sha256' } as const satisfies Record<AgedEcosystem, string>;

/** Compares artifacts that are new to the host with the stored answers; a failed registry proves nothing. */
export function registryFacts({
  subjects,
  said,
  source,
}: {
  subjects: readonly AgeSubject[];
  /** By `timeKey`. */
  said: ReadonlyMap<string, { readonly standing: HashStanding; readonly source: string }>;
  /** Whether missing answers are still being fetched. */
  source: 'judged' | 'pending' | 'unreachable';
}): RegistryFacts {
  const contradicted = subjects.flatMap((subject): UnknownArtifact[] => {
    const answer = said.get(timeKey(subject));
    if (answer?.standing !== 'contradicted') return [];
    const algorithm = ALGORITHMS[subject.ecosystem];
    const { name, version, artifact } = subject;
    const hash = artifact?.[algorithm] ?? '';
    return [{ package: name, version, algorithm, hash, source: answer.source }];
  });
  const pending = source === 'pending' && subjects.some((subject) => !said.has(timeKey(subject)));
  return { contradicted, pending };
}
