import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';

const HOUR_MS = 3_600_000;

export interface AgeViolation {
  readonly package: string;
  readonly version: string;
  readonly publishedAtMs: number | null;
  /** Null: the age is not known (missing, unparsable or future time of release). */
  readonly ageHours: number | null;
}

export interface AgeFacts {
  readonly status: 'ok' | 'violation' | 'unknown_age' | 'not_applicable' | 'off';
  readonly minimumHours: number;
  readonly violations: readonly AgeViolation[];
  /** Some release times are still being asked for. */
  readonly pending: boolean;
}

/** A version whose age is judged, in the spelling of its ecosystem. */
export interface AgeSubject {
  readonly ecosystem: Ecosystem;
  readonly name: string;
  readonly version: string;
}

/** A7 applies to npm and PyPI: apt and dnf have no time of release. */
export function ageApplies(ecosystem: Ecosystem): boolean {
  return ecosystem === 'npm' || ecosystem === 'pypi';
}

export function ageKey({ ecosystem, name, version }: AgeSubject): string {
  return `${ecosystem}\n${spelt(ecosystem, name)}\n${version}`;
}

/** PyPI names are one name in many spellings (PEP 503). */
function spelt(ecosystem: Ecosystem, name: string): string {
  return ecosystem === 'pypi' ? name.toLowerCase().replaceAll(/[-_.]+/g, '-') : name;
}

/** Reading 2: every version of the closure that is new to the host, not only the top-level package. */
export function ageSubjects(args: {
  ecosystem: Ecosystem;
  actions: readonly PlanAction[];
  installed: readonly { name: string; version: string }[];
}): AgeSubject[] {
  const { ecosystem } = args;
  if (!ageApplies(ecosystem)) return [];
  const present = new Set(args.installed.map((one) => ageKey({ ecosystem, ...one })));
  return args.actions
    .filter(({ action }) => action !== 'remove')
    .map(({ name, to_version: version = '' }) => ({ ecosystem, name: spelt(ecosystem, name), version }))
    .filter((subject) => !present.has(ageKey(subject)));
}

/**
 * Ages at one cutoff. Equal to the minimum passes. A version whose time was never fetched counts as unknown in
 * `block`; in `warn` it fails open (specification, "Advisory checks").
 */
export function ageFacts(args: {
  ecosystem: Ecosystem;
  mode: 'block' | 'warn' | 'off';
  subjects: readonly AgeSubject[];
  /** Time of release by `ageKey`; null where the registry gives none. */
  releasedAtMs: ReadonlyMap<string, number | null>;
  /** `name@version` that an operator has excepted, by `ageKey`. */
  exceptions: ReadonlySet<string>;
  /** Whether times that are not there are still being asked for. */
  source: 'judged' | 'pending' | 'unreachable';
  nowMs: number;
  minimumHours: number;
}): AgeFacts {
  const { ecosystem, mode, subjects, releasedAtMs, exceptions, source, nowMs, minimumHours } = args;
  const none = { minimumHours, violations: [], pending: false };
  if (!ageApplies(ecosystem)) return { ...none, status: 'not_applicable' };
  if (mode === 'off') return { ...none, status: 'off' };
  const violations: AgeViolation[] = [];
  let pending = false;
  for (const subject of subjects) {
    const key = ageKey(subject);
    if (exceptions.has(key)) continue;
    const publishedAtMs = releasedAtMs.get(key);
    if (publishedAtMs === undefined && source === 'pending') pending = true;
    else if (publishedAtMs === undefined && mode === 'warn') continue;
    else {
      const age = ageOf(publishedAtMs ?? null, nowMs);
      if (age.ageHours !== null && age.ageHours >= minimumHours) continue;
      violations.push({ package: subject.name, version: subject.version, ...age });
    }
  }
  return { status: statusOf(violations), minimumHours, violations, pending };
}

function ageOf(
  publishedAtMs: number | null,
  nowMs: number,
): Pick<AgeViolation, 'publishedAtMs' | 'ageHours'> {
  if (publishedAtMs === null || !Number.isFinite(publishedAtMs) || publishedAtMs > nowMs) {
    return { publishedAtMs: null, ageHours: null };
  }
  return { publishedAtMs, ageHours: (nowMs - publishedAtMs) / HOUR_MS };
}

function statusOf(violations: readonly AgeViolation[]): 'ok' | 'violation' | 'unknown_age' {
  if (violations.length === 0) return 'ok';
  return violations.some(({ ageHours }) => ageHours !== null) ? 'violation' : 'unknown_age';
}
