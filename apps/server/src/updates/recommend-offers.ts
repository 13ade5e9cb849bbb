import type { MaxChange } from '@tidegate/protocol/offers';
import { compareText } from '../platform/compare-text.ts';
import { weighedChunks } from '../platform/db/chunks.ts';
import type { Tx } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { recommend } from './offer-rules.ts';
import { hasPlaces, packageKey } from './scan-rules.ts';
import {
  type KnownUpdate,
  openUpdatesOf,
  openUpdatesOfPackage,
  type PackageOfHost,
  setRecommended,
} from './store.ts';

/** Versions that are compared between two turns of the event loop: up to ten milliseconds, as long as versions may be. */
const COMPARED_A_TURN = 100;
/** Open versions of one package that are compared, those offered last: an honest host has three. */
const COMPARED_MAX = 100;

/**
 * Marks which of the open versions of each npm or PyPI package of a host is recommended, and writes what has changed. The
 * caller holds the agent's lock.
 */
export async function recommendOffers(
  tx: Tx,
  { maxChange, ...of }: { agentId: string; ecosystem: string; maxChange: MaxChange },
): Promise<void> {
  if (!hasPlaces(of.ecosystem)) return;
  await recommendAmong(tx, { open: await openUpdatesOf(tx, of), maxChange });
}

/** The same for one package. */
export async function recommendVersions(
  tx: Tx,
  { of, maxChange }: { of: PackageOfHost; maxChange: MaxChange },
): Promise<void> {
  if (!hasPlaces(of.ecosystem)) return;
  await recommendAmong(tx, { open: await openUpdatesOfPackage(tx, of), maxChange });
}

async function recommendAmong(
  tx: Tx,
  { open, maxChange }: { open: readonly KnownUpdate[]; maxChange: MaxChange },
): Promise<void> {
  const bits = new Map<string, number>();
  const packages = Map.groupBy(open, packageKey).values();
  for (const some of weighedChunks(packages, { weigh: ({ length }) => length, most: COMPARED_A_TURN })) {
    await takeTurn();
    for (const versions of some) {
      for (const [id, recommended] of recommend(versions.slice(-COMPARED_MAX), maxChange))
        bits.set(id, recommended);
    }
  }
  const changed = open
    .map(({ id, recommended: before }) => ({ id, before, recommended: bits.get(id) ?? 0 }))
    .filter(({ before, recommended }) => recommended !== before);
  // In one order, so that two transactions over the same rows do not deadlock.
  for (const one of changed.toSorted((a, b) => compareText(a.id, b.id))) await setRecommended(tx, one);
}
