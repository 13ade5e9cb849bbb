import type { OriginRule } from '@tidegate/protocol/origins-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { isForeignOrigin, isKnownOrigin, vendorsOf } from '../advisories/package-origin.ts';

/** Packages of one closure that registered origins may let pass; with more, they let none pass (A6). */
export const ORIGIN_USES_MAX = 100;
const DAY_MS = 24 * 3_600_000;

/** A registered origin in force. */
export interface Registration {
  readonly id: string;
  /** Of its signed payload. */
  readonly sha256: string;
  readonly ecosystem: Ecosystem;
  readonly key: string;
  readonly suites: readonly string[];
  readonly rule: OriginRule;
  readonly minAgeDays: number | null;
  readonly reason: string;
  readonly endsAtMs: number;
}

/** `key_unknown`: the host did not say who signed the repository. `disputed`: other hosts have the file from elsewhere. */
export type OriginStanding = 'allowed' | 'asks' | 'too_young' | 'disputed' | 'not_registered' | 'key_unknown';

/** A package from a third party's repository. */
export interface OriginFact {
  readonly package: string;
  readonly version: string;
  readonly arch: string | null;
  readonly origin: string;
  readonly key: string | null;
  readonly standing: OriginStanding;
  readonly registration: Pick<
    Registration,
    'id' | 'sha256' | 'rule' | 'minAgeDays' | 'reason' | 'endsAtMs'
  > | null;
  /** When the server first saw exactly this file. */
  readonly firstSeenAtMs: number | null;
}

export interface OriginFacts {
  readonly items: readonly OriginFact[];
  /** Packages of the closure that no database covers, these among them. */
  readonly uncovered: number;
}

/** What counting hosts said about one file: when first, and from which repositories. */
export interface FileClaims {
  readonly firstSeenAtMs: number | null;
  readonly origins: readonly string[];
}

/** A suite as registrations name it: apt's origin without the version, which changes with each point release. */
export function suiteOf(ecosystem: Ecosystem, origin: string): string {
  return ecosystem === 'apt' ? origin.replace(/(^|:)\d[^/:]*\//, '$1') : origin;
}

/** All suites that offer a package, as registrations name them. */
export function suitesOf(ecosystem: Ecosystem, origin: string): string[] {
  return (ecosystem === 'apt' ? origin.split(', ') : [origin]).map((one) => suiteOf(ecosystem, one));
}

/** Whether an action brings a package from a third party's repository. */
export function isThirdParty(ecosystem: Ecosystem, osId: string, { action, origin }: PlanAction): boolean {
  return action !== 'remove' && isKnownOrigin(origin) && isForeignOrigin(ecosystem, { id: osId }, origin);
}

/** The registration of exactly the key, for every suite that offers the package. */
export function registrationFor(
  ecosystem: Ecosystem,
  { origin = '', origin_key: key }: PlanAction,
  registered: readonly Registration[],
): Registration | null {
  const suites = suitesOf(ecosystem, origin);
  const fitting = registered.filter(
    (one) =>
      one.ecosystem === ecosystem && one.key === key && suites.every((suite) => one.suites.includes(suite)),
  );
  // Of several the strictest counts.
  return (
    fitting.toSorted((a, b) => STRICTNESS[b.rule] - STRICTNESS[a.rule] || daysOf(b) - daysOf(a))[0] ?? null
  );
}

const STRICTNESS: Readonly<Record<OriginRule, number>> = { ask: 2, allow_older_than: 1, allow: 0 };

function daysOf({ minAgeDays }: Registration): number {
  return minAgeDays ?? 0;
}

/** How one package of a third party stands. */
export function originFact(
  ecosystem: Ecosystem,
  action: PlanAction,
  given: { registration: Registration | null; claims: FileClaims; nowMs: number },
): OriginFact {
  const { registration, claims } = given;
  const { name, to_version: version = '', arch = null, origin = '', origin_key: key = null } = action;
  return {
    ...{ package: name, version, arch, origin, key },
    standing: standingOf(ecosystem, { origin, key }, given),
    registration: registration && {
      ...{ id: registration.id, sha256: registration.sha256, rule: registration.rule },
      ...{
        minAgeDays: registration.minAgeDays,
        reason: registration.reason,
        endsAtMs: registration.endsAtMs,
      },
    },
    firstSeenAtMs: claims.firstSeenAtMs,
  };
}

function standingOf(
  ecosystem: Ecosystem,
  { origin, key }: { origin: string; key: string | null },
  given: { registration: Registration | null; claims: FileClaims; nowMs: number },
): OriginStanding {
  const { registration, claims, nowMs } = given;
  if (key === null) return 'key_unknown';
  if (!registration) return 'not_registered';
  // A host that names another repository for the file than others do may lie about the key as well.
  const vendors = vendorsOf(ecosystem, origin);
  const differs = (other: string) => !vendorsOf(ecosystem, other).some((one) => vendors.includes(one));
  if (claims.origins.some(differs)) return 'disputed';
  switch (registration.rule) {
    case 'ask':
      return 'asks';
    case 'allow':
      return 'allowed';
    case 'allow_older_than': {
      const ageMs = claims.firstSeenAtMs === null ? 0 : nowMs - claims.firstSeenAtMs;
      return ageMs >= daysOf(registration) * DAY_MS ? 'allowed' : 'too_young';
    }
  }
}

/** Whether registered origins let everything pass that no database covers. */
export function originsAllow(origins: OriginFacts | undefined): boolean {
  const items = origins?.items ?? [];
  return (
    items.length > 0 &&
    items.length <= ORIGIN_USES_MAX &&
    items.length === origins?.uncovered &&
    items.every(({ standing }) => standing === 'allowed')
  );
}

/** The registrations of these packages, each once, by id. */
export function usedOrigins(origins: OriginFacts | undefined): { id: string; sha256: string }[] {
  const used = (origins?.items ?? []).flatMap(({ registration }) => registration ?? []);
  const distinct = new Map(used.map(({ id, sha256 }) => [id, { id, sha256 }]));
  return [...distinct.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
