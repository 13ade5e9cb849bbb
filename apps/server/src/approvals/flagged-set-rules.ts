import type { Finding } from '../advisories/closure-facts.ts';
import type { GatePolicy } from './gate-facts.ts';
import type { Stop } from './verdict.ts';

/** How often updates are taken out of a flagged set before it is halved. */
const ROUNDS_MAX = 5;

/** An update of a set, with the packages of its own plan; null while that is not known. */
export interface Member {
  readonly id: string;
  readonly packages: ReadonlySet<string> | null;
}

interface Named {
  readonly package: string;
}

/** A stop with what it is about; a `BlockedVerdict` is one. */
export interface Flag {
  readonly stop: Pick<Stop, 'by'>;
  readonly policy: GatePolicy['vulnerabilities'];
  readonly judged: {
    readonly closure: { readonly findings: readonly Pick<Finding, 'package' | 'change' | 'malicious'>[] };
    readonly divergences: readonly Named[];
    readonly registry: { readonly contradicted: readonly Named[] };
    readonly age: { readonly violations: readonly Named[] };
    readonly held?: readonly Named[];
  };
  /** The findings that did not count. */
  readonly excused: { has(finding: object): boolean };
}

export interface SplitSet {
  /** Updates that the gate stops. */
  readonly stopped: readonly string[];
  /** Sets to be planned and judged again. */
  readonly rest: readonly (readonly string[])[];
}

/**
 * Takes those updates out of a flagged set that bring a package which the gate stops. Where none does by its own plan,
 * or after five rounds, the set is halved: of one update the verdict is its own.
 */
export function splitFlagged(
  members: readonly Member[],
  { verdict, round }: { verdict: Flag; round: number },
): SplitSet {
  const names = stoppedPackages(verdict);
  // Nothing distinguishes one update from another: each would be stopped as the set is.
  if (names === null) return { stopped: members.map(({ id }) => id), rest: [] };
  const isStopped = ({ packages }: Member) => packages !== null && !packages.isDisjointFrom(names);
  if (round >= ROUNDS_MAX || !members.some(isStopped))
    return { stopped: [], rest: halvesOf(members.map(({ id }) => id)) };
  const others = members.filter((member) => !isStopped(member)).map(({ id }) => id);
  return {
    stopped: members.filter(isStopped).map(({ id }) => id),
    rest: others.length > 0 ? [others] : [],
  };
}

/** Halves of a set that has no plan, or none that can be approved; of one update there are none. */
export function halvesOf<T>(members: readonly T[]): T[][] {
  if (members.length < 2) return [];
  const middle = Math.ceil(members.length / 2);
  return [members.slice(0, middle), members.slice(middle)];
}

/** The packages that a stop is about; null if it is about all of them. */
function stoppedPackages({ stop, judged, excused, policy }: Flag): Set<string> | null {
  switch (stop.by) {
    case 'divergence':
      return new Set(judged.divergences.map((one) => one.package));
    case 'registry':
      return new Set(judged.registry.contradicted.map((one) => one.package));
    case 'hold':
      return new Set((judged.held ?? []).map((one) => one.package));
    case 'age':
      return new Set(judged.age.violations.map((one) => one.package));
    case 'vulnerability': {
      const counted = judged.closure.findings.filter((finding) => !excused.has(finding));
      const introduced = counted.filter(({ change, malicious }) => change === 'introduced' || malicious);
      const isLenient = policy === 'introduced' && introduced.length > 0;
      return new Set((isLenient ? introduced : counted).map((one) => one.package));
    }
    case 'unchecked':
    case 'policy':
      return null;
  }
}
