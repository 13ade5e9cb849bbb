import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { distributionOf, type Sighting } from './identity-rules.ts';
import type { Claims } from './ledger.ts';
import { settleDivergence } from './settle-divergence.ts';
import type { SightingRow } from './sighting-store.ts';
import { type DivergenceRow, type HashRow, insertHash, takeDivergence } from './store.ts';

/** Hashes listed per artifact. Further ones are blocked without being listed; an operator may type them. */
export const HASHES_MAX = 100;
/** Hashes listed in an event, the newest last. */
const EVENT_HASHES_MAX = 10;

export interface Differing {
  readonly sighting: Sighting;
  readonly row: SightingRow;
  readonly claims: Claims;
}

/**
 * Opens or reopens the divergence of each artifact for which a host reports another hash. One event per hash, not per
 * report. The sightings are stored already.
 */
export async function raiseDivergences(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, differing }: { agentId: string; differing: readonly Differing[] },
): Promise<void> {
  for (const each of differing) {
    const raised = await raise(tx, platform, each);
    if (!raised) continue;
    await appendEvent(tx, platform, {
      ...{ kind: 'security', type: 'ARTIFACT_DIVERGENCE', severity: 'critical', component: 'security' },
      ...{ agentId, actor: 'agent', content: contentOf(raised.divergence, raised.hashes) },
    });
  }
}

/** Null when the hash is already listed. */
async function raise(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { sighting, row, claims }: Differing,
): Promise<{ divergence: DivergenceRow; hashes: HashRow[] } | null> {
  const { ecosystem, scope, name, version, variant, algorithm } = sighting;
  const taken = await takeDivergence(tx, {
    id: platform.newId(),
    ...{ ecosystem, scope, name, version, variant, algorithm },
    ...{ state: 'open', settled_by: null, hash_count: 0, opened_at: platform.now() },
    ...{ decided_at: null, decided_by: null, reason: null, decision_id: null },
  });
  let isNews = false;
  if (taken.hash_count < HASHES_MAX) {
    // Hashes without a contradiction until now have passed the gate.
    for (const [hash, [first]] of claims) {
      if (first && hash !== row.hash) await insertHash(tx, hashRow(taken.id, first, 'established'));
    }
    isNews = await insertHash(tx, hashRow(taken.id, row, 'disputed'));
  }
  const settled = await settleDivergence(tx, platform, taken, row.hash);
  return isNews ? settled : null;
}

function hashRow(divergenceId: string, row: SightingRow, standing: HashRow['standing']): HashRow {
  const { hash, agent_id, origin, url, seen_at } = row;
  return { divergence_id: divergenceId, hash, standing, hosts: 1, agent_id, origin, url, seen_at };
}

function contentOf(divergence: DivergenceRow, hashes: readonly HashRow[]) {
  const { ecosystem, name, version, scope, variant, algorithm } = divergence;
  return {
    divergence_id: divergence.id,
    package: { ecosystem, name, version },
    distribution: distributionOf(scope),
    variant: variant === '' ? null : variant,
    algorithm,
    hashes: hashes.slice(-EVENT_HASHES_MAX).map(({ hash, standing, agent_id, origin, url, seen_at }) => ({
      ...{ hash, standing, agent_id, origin, url, seen_at: rfc3339(seen_at) },
    })),
  };
}
