import {
  APPROVAL_MAX_BYTES,
  APPROVAL_TYPE,
  ApprovalPayload,
  type Envelope,
} from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import type { ClosureFacts } from '../advisories/closure-facts.ts';
import { queueCommand } from '../commands/queue-command.ts';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import { MARKERS } from '../platform/log.ts';
import { sha256Hex } from '../platform/sha256.ts';
import type { StoredPlan } from '../updates/store.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import type { AgeFacts } from './age-rules.ts';
import type { ApprovalDeps } from './deps.ts';
import type { ApprovalRequest, Stop, UpdateFacts, Verdict } from './gate.ts';
import { gateReport, packageOf, stopText } from './gate-report.ts';
import { divergencesOfPlans, type LoadedUpdate } from './load-update.ts';
import { type Decision, recordDecision } from './record-decision.ts';
import { insertApproval, lockUpdate, voidLiveApproval } from './store.ts';

/** Life of an approval from the moment that its command may be delivered (wire.md), in milliseconds. */
export const APPROVAL_LIFETIME_MS = 7 * 24 * 3_600_000;
/** What an envelope holds beside the actions, at most. */
const ENVELOPE_RESERVE_BYTES = 16 * 1024;
/** Findings that an event names; the update itself has all of them. */
const EVENT_FINDINGS_MAX = 50;

export interface Minting {
  readonly loaded: LoadedUpdate;
  readonly facts: UpdateFacts;
  readonly verdict: Extract<Verdict, { kind: 'mint' }>;
  /** Name of the operator who answers for it. */
  readonly approvedBy: string;
  /** Who does it: that operator, or `sweep`. */
  readonly actor: string;
  /** What the gate was asked. */
  readonly request: ApprovalRequest;
  readonly via: Decision['via'];
  readonly notBeforeMs: number | null;
}

export type Minted =
  | { readonly kind: 'minted'; readonly tokenId: string; readonly token: Envelope }
  /** Somebody else decided first. */
  | { readonly kind: 'conflict' }
  /** The plan is not the one that was judged any more, or an artifact of it diverges since. */
  | { readonly kind: 'plan_changed' }
  | { readonly kind: 'too_large' };

/**
 * Mints the signed token of an update that the gate let pass: token, command, state, history and events in the
 * caller's transaction. The update's row is taken first, so that of many approvals at once one mints. Nothing is
 * written unless the answer is `minted`. The token binds the artifact hashes of the very plan that was judged (A4).
 */
export async function mintApproval(tx: Tx, deps: ApprovalDeps, minting: Minting): Promise<Minted> {
  const { platform, keyRing } = deps;
  const { loaded, facts, verdict, actor } = minting;
  const { update, planned } = loaded;
  const locked = await lockUpdate(tx, update.id);
  if (!planned || !facts.judged || locked?.plan_id !== planned.plan.id) return { kind: 'plan_changed' };
  if (locked.state !== 'pending' && locked.state !== 'awaiting_plan') return { kind: 'conflict' };
  // Another host may have told of another hash since the gate was asked.
  const [diverging] = await divergencesOfPlans(tx, [loaded]);
  if (diverging && diverging.length > 0) return { kind: 'plan_changed' };

  const tokenId = platform.newId();
  const nowMs = platform.now();
  const notBeforeMs = Math.max(nowMs, minting.notBeforeMs ?? nowMs);
  const draft = {
    deps,
    minting,
    tokenId,
    plan: planned.plan,
    closure: facts.judged.closure,
    age: facts.judged.age,
    nowMs,
    expiresAtMs: notBeforeMs + APPROVAL_LIFETIME_MS,
  };
  // Known before anything is written: base64 adds a third, the rest of the payload less than the reserve.
  const actionBytes = Buffer.byteLength(JSON.stringify(planned.plan.actions));
  if ((actionBytes * 4) / 3 + ENVELOPE_RESERVE_BYTES > APPROVAL_MAX_BYTES) return { kind: 'too_large' };

  const override = verdict.waived ? await recordOverride(tx, deps, minting, verdict.waived) : null;
  const bytes = Buffer.from(JSON.stringify(payloadOf(draft, override)));
  const signer = keyRing.signer();
  const token = signer.sign(APPROVAL_TYPE, bytes);
  const sha256 = sha256Hex(bytes);
  await voidLiveApproval(tx, { updateId: update.id, reason: 'replaced', nowMs });
  await insertApproval(tx, {
    token_id: tokenId,
    update_id: update.id,
    agent_id: update.agent_id,
    plan_id: planned.plan.id,
    envelope: JSON.stringify(token),
    payload_sha256: sha256,
    key_id: signer.keyId,
    verdict: JSON.stringify({ ...gateReport(loaded, facts, verdict), findings: [] }),
    override_by: override?.by ?? null,
    override_reason: override ? minting.request.overrideReason : null,
    override_event_id: override?.event_id ?? null,
    approved_by: minting.approvedBy,
    issued_at: nowMs,
    expires_at: draft.expiresAtMs,
    voided_at: null,
    void_reason: null,
  });
  await queueCommand(tx, platform, {
    agentId: update.agent_id,
    action: 'install_update',
    params: { update_id: update.id },
    updateId: update.id,
    approval: { tokenId, sha256 },
    notBeforeMs,
    createdBy: actor,
  });
  await transitionUpdate(tx, platform, {
    updateId: update.id,
    from: [locked.state],
    to: 'approved',
    actor,
    reason: override
      ? `override of ${stopText(verdict.waived ?? { by: 'unchecked', reason: 'unreachable' })}`
      : null,
    set: { approval_id: tokenId, not_before: minting.notBeforeMs },
  });
  const { approvedBy, request, via } = minting;
  const decided = { loaded, facts, verdict, request, via, actor, approvedBy, tokenId };
  const decision = await recordDecision(tx, deps, { ...decided, outcome: 'minted', outcomeReason: null });
  await appendEvent(tx, platform, {
    kind: 'system',
    type: 'update_approved',
    severity: 'info',
    component: 'approvals',
    agentId: update.agent_id,
    actor,
    content: {
      update_id: update.id,
      package: packageOf(loaded),
      token_id: tokenId,
      actor,
      approved_by: minting.approvedBy,
      verdict: draft.closure.verdict,
      override: override !== null,
      decision,
    },
  });
  return { kind: 'minted', tokenId, token };
}

interface Draft {
  readonly deps: ApprovalDeps;
  readonly minting: Minting;
  readonly tokenId: string;
  readonly plan: StoredPlan;
  readonly closure: ClosureFacts;
  readonly age: AgeFacts;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

function payloadOf(draft: Draft, override: ApprovalPayload['override']): ApprovalPayload {
  const { deps, minting, plan, closure, age } = draft;
  const { update, ecosystem } = minting.loaded;
  const payload = {
    v: 1,
    token_id: draft.tokenId,
    fleet_id: deps.keyRing.fleetId,
    update_id: update.id,
    agent_id: update.agent_id,
    ecosystem,
    package: {
      name: update.name,
      from_version: update.current_version || null,
      to_version: update.available_version,
    },
    actions: plan.actions,
    plan_sha256: plan.planSha256,
    verdict: {
      vulnerability: closure.verdict,
      age: age.status,
      checked_at: closure.checkedAtMs === null ? null : rfc3339Seconds(closure.checkedAtMs),
      source: closure.source,
      snapshot: closure.snapshot,
    },
    override,
    issued_at: rfc3339Seconds(draft.nowMs),
    expires_at: rfc3339Seconds(draft.expiresAtMs),
  };
  if (!Value.Check(ApprovalPayload, payload)) throw new Error('an approval that no agent would take');
  return payload;
}

/** A5: every override leaves a system event with package, cause and the operator's reason. */
async function recordOverride(
  tx: Tx,
  { platform }: ApprovalDeps,
  { loaded, facts, approvedBy, request }: Minting,
  waived: Stop,
): Promise<NonNullable<ApprovalPayload['override']>> {
  const reason = request.overrideReason ?? '';
  const closure = facts.judged?.closure;
  const eventId = await appendEvent(tx, platform, {
    kind: 'system',
    type: 'supply_chain_override',
    severity: 'warning',
    component: 'security',
    agentId: loaded.update.agent_id,
    actor: approvedBy,
    content: {
      package: packageOf(loaded),
      cause: {
        blocked_by: waived.by,
        reason: waived.reason,
        verdict: closure?.verdict ?? 'unchecked',
        unchecked: closure?.unchecked ?? null,
        findings: (closure?.findings ?? [])
          .slice(0, EVENT_FINDINGS_MAX)
          .map(({ id, package: name }) => ({ id, package: name })),
      },
      reason,
      update_id: loaded.update.id,
      actor: approvedBy,
    },
  });
  return { by: approvedBy.slice(0, 128), reason_sha256: sha256Hex(reason), event_id: eventId };
}

/** The log line of an override, written once its transaction is committed. */
export function logOverride({ platform }: ApprovalDeps, { loaded, verdict, approvedBy }: Minting): void {
  if (!verdict.waived) return;
  platform.log.security(MARKERS.gateOverridden, {
    update_id: loaded.update.id,
    package: loaded.update.name,
    version: loaded.update.available_version,
    cause: stopText(verdict.waived),
    operator: approvedBy,
  });
}
