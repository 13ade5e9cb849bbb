import { bundlersOf } from '@tidegate/protocol/bundles';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';
import { type AgeSubject, ageApplies, ageKey, timeKey } from '../release-times/subjects.ts';

const HOUR_MS = 3_600_000;

export interface AgeViolation {
  readonly package: string;
  readonly version: string;
  readonly publishedAtMs: number | null;
  /** Null: the age is unknown (missing, unparsable or future release time). */
  readonly ageHours: number | null;
}

/** A release time used by a decision, and its source. */
export interface AgeTime {
  readonly package: string;
  readonly version: string;
  readonly publishedAtMs: number | null;
  readonly source: string;
}

export interface AgeFacts {
  readonly status: 'ok' | 'violation' | 'unknown_age' | 'not_applicable' | 'off';
  readonly minimumHours: number;
  readonly violations: readonly AgeViolation[];
  /** The registries' release times of every version that is new to the host. */
  readonly times: readonly AgeTime[];
  /** Versions with an exception. */
  readonly excepted: readonly { readonly package: string; readonly version: string }[];
  /** Some release times are still being fetched. */
  readonly pending: boolean;
}

/**
 * Reading 2: every version of the closure that is new to the host, not only the top-level package. A bundled package is
 * as old as the file that contains it, whose package is itself a subject (decision 0011).
 */
export function ageSubjects(args: {
  ecosystem: Ecosystem;
  actions: readonly PlanAction[];
  installed: readonly { name: string; version: string }[];
}): AgeSubject[] {
  const { ecosystem } = args;
  if (!ageApplies(ecosystem)) return [];
  const present = new Set(args.installed.map((one) => ageKey({ ecosystem, ...one })));
  const bundlers = bundlersOf(args);
  const subjects = args.actions
    .filter((action) => action.action !== 'remove' && !bundlers.has(action))
    .map(({ name, to_version: version = '', artifact }) => ({
      ecosystem,
      name: canonicalName(ecosystem, name),
      version,
      artifact: artifact ?? null,
    }))
    .filter((subject) => !present.has(ageKey(subject)));
  // The same version in several places of a closure is one subject.
  return [...new Map(subjects.map((subject) => [timeKey(subject), subject])).values()];
}

/**
 * Compares ages with one cutoff; an age equal to the minimum passes. A version whose time was never fetched counts as
 * unknown in `block`; in `warn` it fails open (specification, "Advisory checks").
 */
export function ageFacts(args: {
  ecosystem: Ecosystem;
  mode: 'block' | 'warn' | 'off';
  subjects: readonly AgeSubject[];
  /** Release times by `timeKey`; null when the registry has none. */
  released: ReadonlyMap<string, { readonly atMs: number | null; readonly source: string }>;
  /** Exceptions, by `ageKey` (`name@version`). */
  exceptions: ReadonlySet<string>;
  /** Whether missing times are still being fetched. */
  source: 'judged' | 'pending' | 'unreachable';
  nowMs: number;
  minimumHours: number;
}): AgeFacts {
  const { ecosystem, mode, subjects, released, exceptions, source, nowMs, minimumHours } = args;
  const none = { minimumHours, violations: [], times: [], excepted: [], pending: false };
  if (!ageApplies(ecosystem)) return { ...none, status: 'not_applicable' };
  if (mode === 'off') return { ...none, status: 'off' };
  const violations: AgeViolation[] = [];
  const times: AgeTime[] = [];
  const excepted: { package: string; version: string }[] = [];
  let pending = false;
  for (const subject of subjects) {
    const { name, version } = subject;
    const said = released.get(timeKey(subject));
    if (said) times.push({ package: name, version, publishedAtMs: said.atMs, source: said.source });
    if (exceptions.has(ageKey(subject))) {
      excepted.push({ package: name, version });
      continue;
    }
    if (!said && source === 'pending') pending = true;
    else if (!said && mode === 'warn') continue;
    else {
      const age = ageOf(said?.atMs ?? null, nowMs);
      if (age.ageHours !== null && age.ageHours >= minimumHours) continue;
      violations.push({ package: name, version, ...age });
    }
  }
  return { status: statusOf(violations), minimumHours, violations, times, excepted, pending };
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
