import { HOLD_MAX_DAYS, type HoldRequest } from '@tidegate/protocol/holds-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { globOfPackage } from '@tidegate/versions/globs';
import { hostsInScope, type ScopedHost } from '../agents/host-scope.ts';

const DAY_MS = 86_400_000;

/** A hold in force. */
export interface HoldInForce extends Pick<HoldRequest, 'ecosystems' | 'packages' | 'scope' | 'reason'> {
  readonly id: string;
  readonly endsAtMs: number;
}

/** A package of a plan that a hold keeps as it is. */
export interface HeldPackage {
  readonly package: string;
  /** To which the plan would take it; null: it would be removed. */
  readonly version: string | null;
  readonly holdId: string;
  readonly reason: string;
  readonly endsAtMs: number;
}

/** A plan for one host. */
export interface HeldPlan {
  readonly ecosystem: Ecosystem;
  readonly host: ScopedHost;
  readonly actions: readonly Pick<PlanAction, 'name' | 'to_version'>[];
}

/** A package by the manager that knows the name. */
export interface NamedPackage {
  readonly ecosystem: Ecosystem;
  readonly name: string;
}

/** Whether a hold names this package; which hosts it is for is another question. */
export function namesPackage(
  { ecosystems, packages }: Pick<HoldInForce, 'ecosystems' | 'packages'>,
  one: NamedPackage,
): boolean {
  return ecosystems.includes(one.ecosystem) && globOfPackage(packages, one) !== undefined;
}

/**
 * The held packages that a plan would change, in its order: whatever it does to one, wherever in the closure. Of several
 * holds of a package the one that ends last counts.
 */
export function heldIn(holds: readonly HoldInForce[], { ecosystem, host, actions }: HeldPlan): HeldPackage[] {
  const own = holds
    .filter(({ scope }) => hostsInScope(scope)(host))
    .toSorted((a, b) => b.endsAtMs - a.endsAtMs);
  if (own.length === 0) return [];
  return actions.flatMap(({ name, to_version: version }) => {
    const hold = own.find((one) => namesPackage(one, { ecosystem, name }));
    if (!hold) return [];
    const { id: holdId, reason, endsAtMs } = hold;
    return { package: name, version: version ?? null, holdId, reason, endsAtMs };
  });
}

/** What is wrong with the end of a hold; null if nothing is. */
export function endFault(
  { ends_at: endsAt }: Pick<HoldRequest, 'ends_at'>,
  nowMs: number,
): { path: string; message: string } | null {
  const endsAtMs = Date.parse(endsAt);
  if (endsAtMs > nowMs && endsAtMs <= nowMs + HOLD_MAX_DAYS * DAY_MS) return null;
  return { path: '/ends_at', message: `must be a time in the next ${HOLD_MAX_DAYS} days` };
}
