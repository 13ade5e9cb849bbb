import type { DecideDivergenceRequest } from '@tidegate/protocol/artifacts-api';
import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { decidedStandings } from './divergence-rules.ts';
import { distributionOf } from './identity-rules.ts';
import {
  changeDivergence,
  type DivergenceRow,
  type DivergentHashRow,
  hashesOf,
  lockDivergence,
  setStanding,
} from './store.ts';

export type DecideOutcome =
  | { readonly kind: 'decided'; readonly divergence: DivergenceRow; readonly hashes: DivergentHashRow[] }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'unknown_hash' }
  | { readonly kind: 'count_differs'; readonly count: number };

/**
 * An operator's word about an artifact that diverges: what they accept passes the gate again, the rest stays blocked.
 * It may be given anew. Live approvals that bind a hash which is not accepted are taken back by the sweep.
 */
export async function decideDivergence(
  platform: Platform,
  { id, request, operator }: { id: string; request: DecideDivergenceRequest; operator: string },
): Promise<DecideOutcome> {
  const { accept, reason, confirm_count: confirmed } = request;
  return platform.database.transact(async (tx) => {
    const divergence = await lockDivergence(tx, id);
    if (!divergence) return { kind: 'not_found' };
    const hashes = await hashesOf(tx, [id]);
    const count = hashes.length;
    if (confirmed !== undefined && confirmed !== count) return { kind: 'count_differs', count };
    const standings = decidedStandings(
      hashes.map(({ hash }) => hash),
      accept,
    );
    if (!standings) return { kind: 'unknown_hash' };
    for (const [hash, standing] of standings) await setStanding(tx, { divergenceId: id, hash, standing });
    const change = {
      state: 'decided',
      decided_at: platform.now(),
      decided_by: operator,
      reason,
      enforced_at: null,
    } as const;
    await changeDivergence(tx, id, change);
    const { ecosystem, name, version, scope, variant, algorithm } = divergence;
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'ARTIFACT_DIVERGENCE_DECIDED',
      severity: 'warning',
      component: 'security',
      actor: operator,
      content: {
        divergence_id: id,
        package: { ecosystem, name, version },
        distribution: distributionOf(scope),
        variant: variant === '' ? null : variant,
        algorithm,
        accepted: [...standings].flatMap(([hash, standing]) => (standing === 'accepted' ? [hash] : [])),
        refused: [...standings].flatMap(([hash, standing]) => (standing === 'refused' ? [hash] : [])),
        reason,
        actor: operator,
      },
    });
    const decided = hashes.map((row) => ({ ...row, standing: standings.get(row.hash) ?? row.standing }));
    return { kind: 'decided', divergence: { ...divergence, ...change }, hashes: decided };
  });
}
