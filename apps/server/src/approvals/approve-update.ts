import type { Envelope } from '@tidegate/protocol/documents';
import { awaitPlan } from '../commands/await-plan.ts';
import { awaitedSetsOf } from '../commands/awaited-store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { lockUpdates } from '../updates/lock-updates.ts';
import { openVersionsOf, rivalsOf } from '../updates/rivals-store.ts';
import { type ApprovalDeps, ATTEMPTS, policyOf, WAIT_MS, waitLeftMs } from './deps.ts';
import { isReason, judge } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { stopText } from './gate-report.ts';
import { factsOf, waitForSources } from './load-facts.ts';
import { type LoadedUpdate, loadUpdate, subjectsOfUpdate } from './load-update.ts';
import { logOverride, mintApproval } from './mint-approval.ts';
import { logBlock, recordBlock } from './record-block.ts';
import { recordDecision } from './record-decision.ts';
import type { BlockedVerdict, GateWarning } from './verdict.ts';
import { withPolicyInForce } from './vulnerability-policy.ts';

export interface Approval {
  readonly updateId: string;
  /** Name of the operator. */
  readonly operator: string;
  readonly override: boolean;
  readonly overrideReason: string | null;
  readonly notBeforeMs: number | null;
}

export type ApproveOutcome =
  | { readonly kind: 'approved'; readonly token: Envelope; readonly warnings: readonly GateWarning[] }
  | { readonly kind: 'awaiting_plan' }
  | {
      readonly kind: 'blocked';
      readonly loaded: LoadedUpdate;
      readonly facts: UpdateFacts;
      readonly verdict: BlockedVerdict;
    }
  | {
      readonly kind:
        | 'not_found'
        | 'override_reason_required'
        | 'plan_required'
        | 'verdict_pending'
        | 'too_large';
    }
  | { readonly kind: 'conflict'; readonly state: string }
  /** Another version of the package is approved for the host. */
  | { readonly kind: 'other_version'; readonly version: string };

/**
 * Approves one update (E3): loads the facts, waits for the advisory worker, asks the gate, and writes the outcome in one
 * transaction. Mints only if the gate passed the exact plan that the token binds.
 */
export async function approveUpdate(opened: ApprovalDeps, approval: Approval): Promise<ApproveOutcome> {
  const { updateId, operator, override, overrideReason, notBeforeMs } = approval;
  const request: ApprovalRequest = { by: 'operator', override, overrideReason };
  // A3 comes before any wait: without a reason there is nothing to decide.
  if (override && !isReason(overrideReason)) return { kind: 'override_reason_required' };
  const untilMs = opened.platform.now() + (opened.waitMs ?? WAIT_MS);
  let changed: 'plan_changed' | 'verdict_changed' = 'plan_changed';
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const deps = await withPolicyInForce(opened);
    const loaded = await loadUpdate(deps, updateId);
    if (!loaded) return { kind: 'not_found' };
    const { state } = loaded.update;
    if ((state !== 'pending' && state !== 'awaiting_plan') || loaded.agent.status === 'revoked') {
      return { kind: 'conflict', state: loaded.agent.status === 'revoked' ? 'revoked' : state };
    }
    // All attempts together wait no longer than one.
    const waited = await waitForSources(deps, subjectsOfUpdate(loaded), waitLeftMs(deps, untilMs));
    const [facts] = await factsOf(deps, [loaded], waited);
    if (!facts) throw new Error('every loaded update has facts');
    const verdict = judge(facts, policyOf(deps), request);
    switch (verdict.kind) {
      case 'plan_unknown': {
        const asked = await deps.platform.database.transact((tx) =>
          awaitOwnPlan(tx, deps, { loaded, operator, notBeforeMs }),
        );
        if (asked === 'plan_changed') continue;
        if (typeof asked === 'object') return asked;
        return asked === 'conflict' ? { kind: 'conflict', state } : { kind: 'awaiting_plan' };
      }
      case 'blocked': {
        const block = { loaded, verdict, actor: operator };
        const decided = { loaded, facts, verdict, request, actor: operator, tokenId: null } as const;
        await deps.platform.database.transact(async (tx) => {
          const decision = await recordDecision(tx, deps, {
            ...{ ...decided, via: 'approve', bulkId: null, approvedBy: null },
            ...{ outcome: 'blocked', outcomeReason: stopText(verdict.stop) },
          });
          await recordBlock(tx, deps, { ...block, facts, decision });
        });
        logBlock(deps, block);
        return { kind: 'blocked', loaded, facts, verdict };
      }
      case 'mint': {
        const minting = {
          loaded,
          facts,
          verdict,
          approvedBy: operator,
          actor: operator,
          request,
          via: 'approve',
          bulkId: null,
          notBeforeMs,
          until: null,
        } as const;
        const minted = await deps.platform.database.transact((tx) => mintApproval(tx, deps, minting));
        if (minted.kind === 'plan_changed' || minted.kind === 'verdict_changed') {
          changed = minted.kind;
          continue;
        }
        if (minted.kind === 'conflict') return { kind: 'conflict', state: 'approved' };
        if (minted.kind === 'too_large' || minted.kind === 'other_version') return minted;
        if (minted.kind === 'policy_ended') throw new Error('a person asks in the name of no policy');
        logOverride(deps, minting);
        return { kind: 'approved', token: minted.token, warnings: verdict.warnings };
      }
      case 'override_reason_required':
      case 'plan_required':
      case 'verdict_pending':
        return verdict;
    }
  }
  return changed === 'verdict_changed'
    ? { kind: 'verdict_pending' }
    : { kind: 'conflict', state: 'changing' };
}

/** A plan that has arrived meanwhile is judged at once. */
async function awaitOwnPlan(
  tx: Tx,
  { platform }: ApprovalDeps,
  { loaded, operator, notBeforeMs }: { loaded: LoadedUpdate; operator: string; notBeforeMs: number | null },
): Promise<'awaiting_plan' | 'plan_changed' | 'conflict' | { kind: 'other_version'; version: string }> {
  const { update } = loaded;
  const updateIds = [update.id, ...(await openVersionsOf(tx, [update.id]))];
  const held = (await lockUpdates(tx, { engine: platform.database.engine, updateIds })).get(update.id);
  if (held?.plan_id !== null) return 'plan_changed';
  // Without a row that this server wrote it waits for nothing: who asks now is accountable.
  if (held.state === 'awaiting_plan' && (await awaitedSetsOf(tx, [update.id])).has(update.id)) {
    return 'awaiting_plan';
  }
  const rival = (await rivalsOf(tx, [update.id])).get(update.id);
  if (rival) return { kind: 'other_version', version: rival.version };
  const asking = {
    askedBy: operator,
    policy: null,
    bulkId: null,
    askedAtMs: platform.now(),
    round: 0,
    notBeforeMs,
  };
  const waiting = await awaitPlan(tx, platform, { updates: [update], ...asking, actor: operator });
  return waiting.length > 0 ? 'awaiting_plan' : 'conflict';
}
