import { OFFERS, type Offer } from '@tidegate/protocol/offers';
import { compareVersions } from '@tidegate/versions';
import { isWithin, MAX_CHANGES, type MaxChange } from '@tidegate/versions/change';
import type { UpdateRow } from './store.ts';

// An update stores its offers as the sum of these: bits, in the order of OFFERS.

/** The stored form of offers. */
export function offerBits(offers: readonly Offer[]): number {
  return offers.reduce((bits, offer) => bits | bitOf(offer), 0);
}

/** The offers of a stored form, in the order of OFFERS. */
export function offersOf(bits: number): Offer[] {
  return OFFERS.filter((offer) => (bits & bitOf(offer)) !== 0);
}

export function bitOf(offer: Offer): number {
  return 1 << OFFERS.indexOf(offer);
}

export function isSmallestFix(bits: number): boolean {
  return (bits & bitOf('smallest_fix')) !== 0;
}

/** What a scan says now; that the version is the smallest fix is the server's own finding, and stays. */
export function rescanned(before: number, reported: number): number {
  return reported | (before & bitOf('smallest_fix'));
}

export type Offered = Pick<
  UpdateRow,
  'id' | 'ecosystem' | 'available_version' | 'offers' | 'change' | 'state'
>;

// Under which `max_change` a version is the one that is recommended, as bits.
const RECOMMENDED_BITS: Readonly<Record<MaxChange, number>> = { patch: 1, minor: 2, any: 4 };
/** Recommended under the setting of the fleet: what lists show and counts count while it waits. */
export const RECOMMENDED_HERE = 8;
/** An update without other versions is recommended under each. */
export const RECOMMENDED_ALWAYS = 15;

export function recommendedBit(max: MaxChange): number {
  return RECOMMENDED_BITS[max];
}

/**
 * What is recommended of the open versions of one package in one place, by id. Under a `max_change` it is the newest
 * version within it, and nothing if none is. In the fleet there is always one: the smallest change if its setting
 * allows none, and the smallest fix if the allowed versions do not reach it. Rejected and failed versions are not
 * recommended.
 */
export function recommend(versions: readonly Offered[], maxChange: MaxChange): Map<string, number> {
  const rising = versions
    .filter(({ state }) => state !== 'rejected' && state !== 'failed')
    .toSorted((a, b) => Number(compareVersions(a.ecosystem, a.available_version, b.available_version)) || 0);
  const best = (max: MaxChange) => rising.findLast(({ change }) => isWithin(max, change));
  const bits = new Map(versions.map(({ id }) => [id, 0]));
  const mark = (version: Offered | undefined, bit: number) => {
    if (version) bits.set(version.id, (bits.get(version.id) ?? 0) | bit);
  };
  for (const max of MAX_CHANGES) mark(best(max), RECOMMENDED_BITS[max]);
  const allowed = best(maxChange) ?? rising[0];
  const fix = rising.find(({ offers }) => isSmallestFix(offers));
  const falls = allowed && fix && rising.indexOf(allowed) < rising.indexOf(fix);
  mark(falls ? fix : allowed, RECOMMENDED_HERE);
  return bits;
}
