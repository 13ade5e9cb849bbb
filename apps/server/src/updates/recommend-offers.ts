import type { MaxChange } from '@tidegate/protocol/offers';
import type { Tx } from '../platform/db/engine.ts';
import { recommend } from './offer-rules.ts';
import { hasPlaces, packageKey } from './scan-rules.ts';
import { openUpdatesOf, setRecommended } from './store.ts';

/**
 * Marks which of the open versions of each npm or PyPI package of a host is recommended, and writes what has changed. The
 * caller holds the agent's lock.
 */
export async function recommendOffers(
  tx: Tx,
  { agentId, ecosystem, maxChange }: { agentId: string; ecosystem: string; maxChange: MaxChange },
): Promise<void> {
  if (!hasPlaces(ecosystem)) return;
  const open = await openUpdatesOf(tx, { agentId, ecosystem });
  for (const versions of Map.groupBy(open, packageKey).values()) {
    const bits = recommend(versions, maxChange);
    for (const { id, recommended: before } of versions) {
      const recommended = bits.get(id) ?? before;
      if (recommended !== before) await setRecommended(tx, { id, recommended });
    }
  }
}
