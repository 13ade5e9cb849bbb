import type { DecideDivergenceRequest, UndoDecisionRequest } from '@tidegate/protocol/artifacts-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { decidedHashes } from './divergence-rules.ts';
import { algorithmOf, distributionOf } from './identity-rules.ts';
import { settleDivergence } from './settle-divergence.ts';
import {
  changeDivergence,
  type DivergenceRow,
  type HashRow,
  hashesOf,
  insertDecision,
  insertHash,
  lockDivergence,
} from './store.ts';

interface Settled {
  readonly divergence: DivergenceRow;
  readonly hashes: readonly HashRow[];
}

export type DecideOutcome =
  | ({ readonly kind: 'decided' } & Settled)
  | { readonly kind: 'not_found' }
  | { readonly kind: 'hash_of_another_kind'; readonly algorithm: string }
  | { readonly kind: 'count_differs'; readonly count: number };

export type UndoOutcome =
  | ({ readonly kind: 'undone' } & Settled)
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_decided' };

/**
 * Records an operator's decision about a divergent artifact: accepted hashes, reported by hosts or typed, pass the gate,
 * the others stay blocked. It may be changed by a new decision. Live approvals that bind a losing hash are withdrawn.
 */
export async function decideDivergence(
  platform: Platform,
  { id, request, operator }: { id: string; request: DecideDivergenceRequest; operator: string },
): Promise<DecideOutcome> {
  const { accept, reason, confirm_count: confirmed } = request;
  return platform.database.transact(async (tx) => {
    const divergence = await lockDivergence(tx, id);
    if (!divergence) return { kind: 'not_found' };
    const listed = await hashesOf(tx, [id]);
    const count = listed.length;
    if (confirmed !== undefined && confirmed !== count) return { kind: 'count_differs', count };
    const algorithm = algorithmOf(divergence);
    const decided = decidedHashes(
      listed.map(({ hash }) => hash),
      { accept, algorithm },
    );
    if (!decided) return { kind: 'hash_of_another_kind', algorithm };
    const { accepted, refused } = decided;
    const nowMs = platform.now();
    for (const hash of accepted) {
      const typed = { divergence_id: id, hash, standing: 'accepted', hosts: 0, agent_id: null } as const;
      await insertHash(tx, { ...typed, origin: null, url: '', seen_at: nowMs });
    }
    const by = { reason, actor: operator, decided_at: nowMs };
    const lists = { accepted: JSON.stringify(accepted), refused: JSON.stringify(refused) };
    const decision_id = platform.newId();
    await insertDecision(tx, { id: decision_id, divergence_id: id, kind: 'accept', ...lists, ...by });
    const inForce = { decision_id, decided_at: nowMs, decided_by: operator, reason };
    await changeDivergence(tx, id, inForce);
    const settled = await settleDivergence(tx, platform, { ...divergence, ...inForce });
    await recordEvent(tx, platform, divergence, {
      type: 'ARTIFACT_DIVERGENCE_DECIDED',
      accepted,
      refused,
      ...by,
    });
    return { kind: 'decided', ...settled };
  });
}

/** Undoes an operator's decision: registry and hosts decide again. The decision stays on record. */
export async function undoDecision(
  platform: Platform,
  { id, request, operator }: { id: string; request: UndoDecisionRequest; operator: string },
): Promise<UndoOutcome> {
  return platform.database.transact(async (tx) => {
    const divergence = await lockDivergence(tx, id);
    if (!divergence) return { kind: 'not_found' };
    if (divergence.decision_id === null) return { kind: 'not_decided' };
    const by = { reason: request.reason, actor: operator, decided_at: platform.now() };
    const none = { accepted: '[]', refused: '[]' };
    await insertDecision(tx, { id: platform.newId(), divergence_id: id, kind: 'undo', ...none, ...by });
    const undone = { decision_id: null, decided_at: null, decided_by: null, reason: null };
    await changeDivergence(tx, id, undone);
    const settled = await settleDivergence(tx, platform, { ...divergence, ...undone });
    const lists = { accepted: [], refused: [] };
    await recordEvent(tx, platform, divergence, { type: 'ARTIFACT_DIVERGENCE_UNDONE', ...lists, ...by });
    return { kind: 'undone', ...settled };
  });
}

interface DecisionEvent {
  readonly type: 'ARTIFACT_DIVERGENCE_DECIDED' | 'ARTIFACT_DIVERGENCE_UNDONE';
  readonly accepted: readonly string[];
  readonly refused: readonly string[];
  readonly reason: string;
  readonly actor: string;
}

async function recordEvent(
  tx: Tx,
  platform: Platform,
  divergence: DivergenceRow,
  { type, accepted, refused, reason, actor }: DecisionEvent,
): Promise<void> {
  const { id, ecosystem, name, version, scope, variant, algorithm } = divergence;
  await appendEvent(tx, platform, {
    ...{ kind: 'security', type, severity: 'warning', component: 'security', actor },
    content: {
      divergence_id: id,
      package: { ecosystem, name, version },
      distribution: distributionOf(scope),
      variant: variant === '' ? null : variant,
      algorithm,
      ...(type === 'ARTIFACT_DIVERGENCE_DECIDED' && { accepted, refused }),
      reason,
      actor,
    },
  });
}
