import type { OriginChange } from '@tidegate/protocol/approvals-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { isForeignOrigin, isKnownOrigin, vendorsOf } from '../advisories/package-origin.ts';

export type { OriginChange };

/** A version on a host with the repository that it came from, if that is known. */
export interface PresentPackage {
  readonly name: string;
  readonly arch: string;
  readonly version: string;
  readonly origin: string | null;
}

/** A plan on the host that it is for. */
export interface ChangingPlan {
  readonly ecosystem: Ecosystem;
  /** The ID of the host's os-release file. */
  readonly osId: string;
  readonly actions: readonly PlanAction[];
  readonly installed: readonly PresentPackage[];
}

/**
 * The packages of a plan that another vendor publishes than the version on the host, in the order of the plan, whichever
 * of them were asked for. Vendors are compared, not suites. Where nobody knows where the present version came from, a
 * third party's is listed, and the distribution's is not.
 */
export function originChanges({ ecosystem, osId, actions, installed }: ChangingPlan): OriginChange[] {
  if (ecosystem !== 'apt' && ecosystem !== 'dnf') return [];
  const byName = Map.groupBy(installed, ({ name }) => name);
  const changes: OriginChange[] = [];
  for (const { action, name, arch = null, origin: to } of actions) {
    // A missing origin is a stop of its own.
    if (action === 'remove' || !isKnownOrigin(to)) continue;
    const present = replacedBy(byName.get(name) ?? [], arch);
    const vendors = vendorsOf(ecosystem, to);
    const other = present.find(
      ({ origin }) => isKnownOrigin(origin) && isDisjoint(vendorsOf(ecosystem, origin), vendors),
    );
    if (other) {
      changes.push({ package: name, arch, from: other.origin, to });
    } else if (
      present.some(({ origin }) => !isKnownOrigin(origin)) &&
      isForeignOrigin(ecosystem, { id: osId }, to)
    ) {
      changes.push({ package: name, arch, from: null, to });
    }
  }
  return changes;
}

/** The present packages of the architecture, else of every one: a package may move to or from `all`. */
function replacedBy(present: readonly PresentPackage[], arch: string | null): readonly PresentPackage[] {
  const same = present.filter((one) => one.arch === arch);
  return same.length > 0 ? same : present;
}

function isDisjoint(a: readonly string[], b: readonly string[]): boolean {
  return !a.some((one) => b.includes(one));
}
