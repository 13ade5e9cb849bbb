import { ROLLBACKS_MAX } from '@tidegate/protocol/rollbacks';
import type { RingRollbackAnswer } from '@tidegate/protocol/rollouts-api';
import type { Platform } from '../platform/platform.ts';
import { requestRollbacks } from '../rollbacks/request-rollbacks.ts';
import type { RolloutRow } from '../rollouts/store.ts';
import { updatesOfRing } from './ring-updates-store.ts';

export interface RingOrder {
  readonly rollout: RolloutRow;
  readonly ring: number;
  readonly reason: string;
  readonly dryRun: boolean;
  /** The last update of the part before; null: the first part. */
  readonly after: string | null;
  /** Updates of one part. */
  readonly limit?: number;
  /** In whose name the rollbacks are approved once they are planned. */
  readonly operator: string;
  /** Who asks, for the record. */
  readonly actor: string;
}

/**
 * Asks for the rollback of what a rollout has installed on the hosts of a ring, each installation by the ordinary path:
 * planned by its host, judged, and approved if it is clear. Null while the rollout runs: it would install on.
 */
export async function rollBackRing(
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { rollout, ring, after, limit = ROLLBACKS_MAX, ...by }: RingOrder,
): Promise<RingRollbackAnswer | null> {
  if (rollout.state === 'running') return null;
  const found = await updatesOfRing(platform.database.read, {
    ...{ rollout, ring, after: after ?? '' },
    limit: limit + 1,
  });
  const part = found.slice(0, limit);
  const answer = await requestRollbacks(platform, { of: part, scope: null, ...by });
  return { ...answer, next: found.length > part.length ? (part.at(-1) ?? null) : null };
}
