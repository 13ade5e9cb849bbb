import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { compareVersions } from '@tidegate/versions';
import { canonicalName } from '@tidegate/versions/names';
import { type HostSystem, osvEcosystem } from './ecosystem-strings.ts';
import { isForeignOrigin, isKnownOrigin } from './package-origin.ts';

/** The subject of a query to a vulnerability database: a package version in an ecosystem, in OSV's names. */
export interface Subject {
  readonly ecosystem: string;
  readonly name: string;
  readonly version: string;
}

export type UncheckableReason = 'uncovered' | 'undecidable';

/** The subjects of one package; if `reason` is set, nothing can be queried and the package is unchecked. */
export interface SubjectsOf {
  readonly subjects: readonly Subject[];
  readonly reason: UncheckableReason | null;
}

/** A package on a host, before or after an update; apt and dnf also report its source. */
export interface PackageVersionOf {
  readonly name: string;
  readonly version: string;
  readonly sourceName?: string | null | undefined;
  readonly sourceVersion?: string | null | undefined;
  readonly origin?: string | null | undefined;
}

export function subjectKey({ ecosystem, name, version }: Subject): string {
  return `${ecosystem}\n${name}\n${version}`;
}

/**
 * The subjects after an action (reading 2: judged at the version that it installs). Package managers know the repository
 * of everything that they would install: without it, nobody knows whose data applies.
 */
export function subjectsAfter(ecosystem: Ecosystem, system: HostSystem, action: PlanAction): SubjectsOf {
  const target = subjectsOf(ecosystem, system, {
    name: action.name,
    version: action.to_version ?? '',
    sourceName: action.source_name,
    sourceVersion: action.source_version,
    origin: action.origin,
  });
  const needsOrigin = ecosystem === 'apt' || ecosystem === 'dnf';
  if (target.reason === null && needsOrigin && !isKnownOrigin(action.origin)) return unchecked('undecidable');
  return target;
}

/**
 * The subjects of a package. Of an installed one, an unknown origin counts as the distribution's: archives drop
 * superseded versions, and most hosts have those.
 */
export function subjectsOf(ecosystem: Ecosystem, system: HostSystem, target: PackageVersionOf): SubjectsOf {
  const osv = osvEcosystem(ecosystem, system);
  if (!osv.covered) return unchecked('uncovered');
  const { origin } = target;
  if (isKnownOrigin(origin) && isForeignOrigin(ecosystem, system, origin)) return unchecked('uncovered');
  const { sourceName, sourceVersion } = target;
  switch (ecosystem) {
    case 'npm':
      return asked(ecosystem, [{ ecosystem: osv.name, name: target.name, version: target.version }]);
    case 'pypi':
      return asked(ecosystem, [
        { ecosystem: osv.name, name: canonicalName(ecosystem, target.name), version: target.version },
      ]);
    case 'apt':
      // Debian and Ubuntu records name sources: `gcc` 4:12.2.0-3 is gcc-defaults 1.203, and its epoch would hide it.
      if (!sourceName || !sourceVersion) return unchecked('undecidable');
      return asked(ecosystem, [{ ecosystem: osv.name, name: sourceName, version: sourceVersion }]);
    case 'dnf':
      if (!sourceName || !sourceVersion) return unchecked('undecidable');
      // AlmaLinux records name binary packages, Rocky and SUSE sources: query both.
      return asked(ecosystem, [
        { ecosystem: osv.name, name: target.name, version: withEpoch(target.version) },
        { ecosystem: osv.name, name: sourceName, version: withEpoch(sourceVersion) },
      ]);
    case 'tidegate':
      return unchecked('uncovered');
  }
}

function asked(ecosystem: Ecosystem, subjects: readonly Subject[]): SubjectsOf {
  if (!subjects.every((subject) => isSound(ecosystem, subject))) return unchecked('undecidable');
  return { subjects: subjects.length > 1 ? distinctSubjects(subjects) : [...subjects], reason: null };
}

function unchecked(reason: UncheckableReason): SubjectsOf {
  return { subjects: [], reason };
}

export function distinctSubjects(subjects: Iterable<Subject>): Subject[] {
  return [...new Map([...subjects].map((subject) => [subjectKey(subject), subject])).values()];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters on purpose
const UNSOUND = /[\x00-\x20\x7f]/;
const EVR = /^\d+:[^:-]+-[^:-]+$/;

/**
 * One invalid query fails its whole batch, and an unorderable version is never clear (the public server skips it
 * silently). An rpm version without a release would match like a wildcard.
 */
function isSound(ecosystem: Ecosystem, { name, version }: Subject): boolean {
  if (name === '' || name.length > 214 || UNSOUND.test(name)) return false;
  if (version.length > 256 || UNSOUND.test(version)) return false;
  if (ecosystem === 'dnf' && !EVR.test(version)) return false;
  return compareVersions(ecosystem, version, version) === 0;
}

/** rpm events carry the epoch: without it a patched openssl has a hundred false hits. */
function withEpoch(version: string): string {
  return /^\d+:/.test(version) ? version : `0:${version}`;
}
