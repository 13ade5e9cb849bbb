import type { Artifact } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';

/** Ecosystems whose registries have times of release (A7). */
export const AGED_ECOSYSTEMS = ['npm', 'pypi'] as const;
export type AgedEcosystem = (typeof AGED_ECOSYSTEMS)[number];

/** A version whose age is judged, in the spelling of its ecosystem. */
export interface AgeSubject {
  readonly ecosystem: AgedEcosystem;
  readonly name: string;
  readonly version: string;
  /** The file that would be installed: its own time counts, not that of another file of the same name. */
  readonly artifact: Pick<Artifact, 'filename' | 'sha256' | 'sha512'> | null;
}

/** A7 applies to npm and PyPI: apt and dnf have no time of release. */
export function ageApplies(ecosystem: Ecosystem): ecosystem is AgedEcosystem {
  return ecosystem === 'npm' || ecosystem === 'pypi';
}

/** Identifies exactly one `name@version`, for exceptions and installed packages. */
export function ageKey(of: { ecosystem: Ecosystem; name: string; version: string }): string {
  return `${of.ecosystem}\n${canonicalName(of.ecosystem, of.name)}\n${of.version}`;
}

/** Identifies one file of a version, which has one time of release. */
export function timeKey(subject: AgeSubject): string {
  return storedTimeKey({ ...subject, artifact: artifactKey(subject) });
}

/** The same for a stored row. */
export function storedTimeKey(row: {
  ecosystem: Ecosystem;
  name: string;
  version: string;
  artifact: string;
}): string {
  return `${ageKey(row)}\n${row.artifact}`;
}

/** Tells the files of one version apart, if each has its own time. */
export function artifactKey({ ecosystem, artifact }: AgeSubject): string {
  if (ecosystem === 'npm') return artifact?.sha512 ?? '';
  return artifact ? (artifact.sha256 ?? artifact.filename) : '';
}
