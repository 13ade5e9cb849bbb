import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { distributionOf, type Sighting } from './identity-rules.ts';
import {
  type ArtifactRow,
  changeDivergence,
  type DivergenceRow,
  type DivergentHashRow,
  hashesOf,
  insertDivergentHash,
  takeDivergence,
} from './store.ts';

/** Hashes of one artifact that are listed. A hash beyond them is blocked without being listed. */
export const HASHES_MAX = 100;
/** Divergences of one plan that have an event each; one more event counts the rest. */
export const EVENTS_MAX = 100;
/** Hashes that an event names, the newest last. */
const EVENT_HASHES_MAX = 10;

interface Differing {
  readonly sighting: Sighting;
  readonly first: ArtifactRow;
}

/**
 * Opens, or opens again, the divergence of each artifact that was told of with a hash that is new for it. One that is
 * listed already raises nothing: the event comes once for each hash and not for each report.
 */
export async function raiseDivergences(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, differing }: { agentId: string; differing: readonly Differing[] },
): Promise<void> {
  const raised: DivergenceRow[] = [];
  for (const each of differing) {
    const divergence = await raise(tx, platform, { agentId, ...each });
    if (divergence) raised.push(divergence);
  }
  for (const divergence of raised.slice(0, EVENTS_MAX)) {
    const hashes = await hashesOf(tx, [divergence.id]);
    await appendEvent(tx, platform, {
      ...{ kind: 'security', type: 'ARTIFACT_DIVERGENCE', severity: 'critical', component: 'security' },
      ...{ agentId, actor: 'agent', content: contentOf(divergence, hashes) },
    });
  }
  const [next] = raised.slice(EVENTS_MAX);
  if (!next) return;
  await appendEvent(tx, platform, {
    ...{ kind: 'security', type: 'ARTIFACT_DIVERGENCE', severity: 'critical', component: 'security' },
    ...{ agentId, actor: 'agent' },
    content: { count: raised.length - EVENTS_MAX, first_divergence_id: next.id },
  });
}

/** Null where the hash is no news. */
async function raise(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, sighting, first }: Differing & { agentId: string },
): Promise<DivergenceRow | null> {
  const { ecosystem, scope, name, version, variant, algorithm, hash, origin, url } = sighting;
  const nowMs = platform.now();
  const taken = await takeDivergence(tx, {
    id: platform.newId(),
    ...{ ecosystem, scope, name, version, variant, algorithm },
    state: 'open',
    hash_count: 0,
    opened_at: nowMs,
    decided_at: null,
    decided_by: null,
    reason: null,
    enforced_at: null,
  });
  const divergence_id = taken.id;
  let hash_count = taken.hash_count;
  if (hash_count === 0) {
    const { hash, agent_id, origin, url, seen_at } = first;
    const row = { divergence_id, standing: 'disputed', hash, agent_id, origin, url, seen_at } as const;
    if (await insertDivergentHash(tx, row)) hash_count++;
  }
  if (hash_count >= HASHES_MAX) return null;
  const second = { hash, agent_id: agentId, origin, url, seen_at: nowMs };
  if (!(await insertDivergentHash(tx, { divergence_id, standing: 'disputed', ...second }))) return null;
  hash_count++;
  const reopened = { decided_at: null, decided_by: null, reason: null, enforced_at: null };
  const change = { state: 'open', hash_count, opened_at: nowMs, ...reopened } as const;
  await changeDivergence(tx, divergence_id, change);
  return { ...taken, ...change };
}

function contentOf(divergence: DivergenceRow, hashes: readonly DivergentHashRow[]) {
  const { ecosystem, name, version, scope, variant, algorithm } = divergence;
  return {
    divergence_id: divergence.id,
    package: { ecosystem, name, version },
    distribution: distributionOf(scope),
    variant: variant === '' ? null : variant,
    algorithm,
    hashes: hashes.slice(-EVENT_HASHES_MAX).map(({ hash, agent_id, origin, url, seen_at }) => ({
      ...{ hash, agent_id, origin, url, seen_at: rfc3339(seen_at) },
    })),
  };
}
