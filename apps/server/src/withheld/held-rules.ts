import type { HeldBack } from '@tidegate/protocol/holds-api';
import { type HoldInForce, type NamedPackage, namesPackage } from '../holds/hold-rules.ts';
import { rfc3339 } from '../platform/clock.ts';

/** Updates that holds keep back. */
export interface Held {
  readonly updates: number;
  readonly securityUpdates: number;
  /** Of the holds that keep something back; null: none does. */
  readonly ends: { readonly firstMs: number; readonly lastMs: number } | null;
}

export const NOTHING_HELD: Held = { updates: 0, securityUpdates: 0, ends: null };

/** The first and the last end; null if there is none. */
export function endsOf(holds: readonly Pick<HoldInForce, 'endsAtMs'>[]): Held['ends'] {
  if (holds.length === 0) return null;
  const ends = holds.map(({ endsAtMs }) => endsAtMs);
  return { firstMs: Math.min(...ends), lastMs: Math.max(...ends) };
}

export interface HoldCount {
  readonly hold: HoldInForce;
  readonly updates: number;
  readonly securityUpdates: number;
}

/** What the holds of one host keep back of its updates: an update of two holds counts once in the sum. */
export function heldOfHost(
  holds: readonly HoldInForce[],
  updates: readonly (NamedPackage & { readonly isSecurity: boolean })[],
): { held: Held; holds: HoldCount[] } {
  const counts = holds.map((hold) => {
    const own = updates.filter((one) => namesPackage(hold, one));
    return { hold, own, updates: own.length, securityUpdates: securityOf(own) };
  });
  const keeping = counts
    .filter(({ own }) => own.length > 0)
    .toSorted((a, b) => a.hold.endsAtMs - b.hold.endsAtMs);
  const held = [...new Set(keeping.flatMap(({ own }) => own))];
  return {
    held: {
      ...{ updates: held.length, securityUpdates: securityOf(held) },
      ends: endsOf(keeping.map(({ hold }) => hold)),
    },
    holds: keeping.map(({ own: _, ...count }) => count),
  };
}

function securityOf(updates: readonly { readonly isSecurity: boolean }[]): number {
  return updates.filter(({ isSecurity }) => isSecurity).length;
}

export function heldBackView({ updates, securityUpdates, ends }: Held): HeldBack {
  return {
    ...{ updates, security_updates: securityUpdates },
    first_end: ends && rfc3339(ends.firstMs),
    last_end: ends && rfc3339(ends.lastMs),
  };
}
