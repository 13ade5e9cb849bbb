import {
  APPROVAL_MAX_BYTES,
  APPROVAL_TYPE,
  ApprovalPayload,
  type Envelope,
} from '@tidegate/protocol/documents';
import { Compile } from 'typebox/compile';
import type { Basis } from '../advisories/basis-rules.ts';
import type { ClosureFacts } from '../advisories/closure-facts.ts';
import { partCounts } from '../advisories/closure-parts.ts';
import { holdSnapshots } from '../advisories/mirror/store.ts';
import { type ApprovalRow, insertApprovals, voidLiveApprovals } from '../approval-tokens/store.ts';
import { type NewCommand, queueCommands } from '../commands/queue-command.ts';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import { MARKERS } from '../platform/log.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { type LockedUpdate, lockUpdates } from '../updates/lock-updates.ts';
import type { StateChange } from '../updates/many-store.ts';
import type { StoredPlan } from '../updates/store.ts';
import { transitionHeld } from '../updates/transition-update.ts';
import type { AgeFacts } from './age-rules.ts';
import type { ApprovalDeps } from './deps.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { gateReport, packageOf, stopText } from './gate-report.ts';
import { basesOf, divergencesOfPlans } from './load-facts.ts';
import type { LoadedUpdate } from './load-update.ts';
import { type Decision, recordDecisions } from './record-decision.ts';
import type { MintVerdict, Override } from './verdict.ts';
import { eventParts } from './verdict-parts.ts';

/** Life of an approval from its earliest delivery (docs/protocol/limits.md), in milliseconds. */
export const APPROVAL_LIFETIME_MS = 7 * 24 * 3_600_000;
/** Most bytes of an envelope without the actions. */
const ENVELOPE_RESERVE_BYTES = 16 * 1024;

export interface Minting {
  readonly loaded: LoadedUpdate;
  readonly facts: UpdateFacts;
  readonly verdict: MintVerdict;
  /** The operator who is accountable for it. */
  readonly approvedBy: string;
  /** The acting party: that operator, or `sweep`. */
  readonly actor: string;
  /** The request that the gate judged. */
  readonly request: ApprovalRequest;
  readonly via: Decision['via'];
  readonly notBeforeMs: number | null;
}

export type Minted =
  | { readonly kind: 'minted'; readonly tokenId: string; readonly token: Envelope }
  /** Another decision came first. */
  | { readonly kind: 'conflict' }
  /** The plan is no longer the judged one, or an artifact of it now diverges. */
  | { readonly kind: 'plan_changed' }
  /** The facts about its packages are no longer the judged ones. */
  | { readonly kind: 'verdict_changed' }
  | { readonly kind: 'too_large' };

/**
 * Mints the signed token of an update that the gate passed: token, command, state, history and events in the caller's
 * transaction. The update's row is locked first, so that of many simultaneous approvals only one mints. Writes nothing
 * unless the result is `minted`. The token binds the artifact hashes of the exact plan that was judged (A4).
 */
export async function mintApproval(tx: Tx, deps: ApprovalDeps, minting: Minting): Promise<Minted> {
  const [minted] = await mintApprovals(tx, deps, [minting]);
  if (!minted) throw new Error('every minting has an outcome');
  return minted;
}

/** The same for different updates, in the given order and independently of each other. */
export async function mintApprovals(
  tx: Tx,
  deps: ApprovalDeps,
  mintings: readonly Minting[],
): Promise<Minted[]> {
  const updates = mintings.map(({ loaded }) => loaded);
  const locked = await lockUpdates(tx, {
    engine: deps.platform.database.engine,
    updateIds: updates.map(({ update }) => update.id),
  });
  // Another host may have reported another hash since the gate decided.
  const diverging = await divergencesOfPlans(tx, updates);
  // An advisory may have arrived too: minting rests on the newest snapshot at commit.
  await holdSnapshots(tx, deps.platform.database);
  const bases = await basesOf(tx, deps, updates);
  const tokens: Token[] = [];
  const outcomes: Minted[] = [];
  for (const [i, minting] of mintings.entries()) {
    const held = locked.get(minting.loaded.update.id);
    const isDiverging = (diverging[i] ?? []).length > 0;
    const draft = draftOf(deps, minting, { held, isDiverging, basis: bases.get(minting.loaded) });
    if ('kind' in draft) {
      outcomes.push(draft);
      continue;
    }
    const token = await signDraft(tx, draft);
    tokens.push(token);
    outcomes.push({ kind: 'minted', tokenId: draft.tokenId, token: token.envelope });
  }
  if (tokens.length > 0) await writeTokens(tx, deps, tokens);
  return outcomes;
}

function draftOf(
  deps: ApprovalDeps,
  minting: Minting,
  {
    held,
    isDiverging,
    basis,
  }: { held: LockedUpdate | undefined; isDiverging: boolean; basis: Basis | undefined },
): Draft | Exclude<Minted, { kind: 'minted' }> {
  const { platform } = deps;
  const { planned } = minting.loaded;
  const { judged } = minting.verdict;
  if (!planned || held?.plan_id !== planned.plan.id) return { kind: 'plan_changed' };
  if (held.state !== 'pending' && held.state !== 'awaiting_plan') return { kind: 'conflict' };
  if (isDiverging) return { kind: 'plan_changed' };
  if (!basis || judged.closure.basis?.mark !== basis.mark) return { kind: 'verdict_changed' };
  // Checked before any write: base64 adds a third, the rest of the payload stays below the reserve.
  const actionBytes = Buffer.byteLength(JSON.stringify(planned.plan.actions));
  if ((actionBytes * 4) / 3 + ENVELOPE_RESERVE_BYTES > APPROVAL_MAX_BYTES) return { kind: 'too_large' };
  const nowMs = platform.now();
  const notBeforeMs = Math.max(nowMs, minting.notBeforeMs ?? nowMs);
  return {
    ...{ deps, minting, tokenId: platform.newId(), state: held.state },
    ...{ plan: planned.plan, closure: judged.closure, age: judged.age },
    ...{ nowMs, notBeforeMs, expiresAtMs: notBeforeMs + APPROVAL_LIFETIME_MS },
  };
}

async function signDraft(tx: Tx, draft: Draft): Promise<Token> {
  const { deps, minting } = draft;
  const { override } = minting.verdict;
  const attested = override && (await recordOverride(tx, deps, minting, override));
  const bytes = Buffer.from(JSON.stringify(payloadOf(draft, attested)));
  const signer = deps.keyRing.signer();
  const envelope = signer.sign(APPROVAL_TYPE, bytes);
  return { draft, attested, envelope, sha256: sha256Hex(bytes), keyId: signer.keyId };
}

/** Writes the rows of signed tokens, table by table: single statements per row would take most of the time. */
async function writeTokens(tx: Tx, deps: ApprovalDeps, tokens: readonly Token[]): Promise<void> {
  const { platform } = deps;
  const nowMs = platform.now();
  const updateIds = tokens.map(({ draft }) => draft.minting.loaded.update.id);
  await voidLiveApprovals(tx, { updateIds, reason: 'replaced', nowMs });
  await insertApprovals(tx, tokens.map(approvalRow));
  await queueCommands(tx, platform, tokens.map(installCommand));
  await transitionHeld(tx, platform, tokens.map(stateChange));
  const decisions = await recordDecisions(
    tx,
    deps,
    tokens.map(({ draft: { minting, tokenId } }) => {
      const { loaded, facts, verdict, request, via, actor, approvedBy } = minting;
      const decided = { loaded, facts, verdict, request, via, actor, approvedBy, tokenId };
      return { ...decided, outcome: 'minted', outcomeReason: null };
    }),
  );
  for (const [i, { draft }] of tokens.entries()) {
    const { loaded, verdict, actor, approvedBy } = draft.minting;
    await appendEvent(tx, platform, {
      kind: 'system',
      type: 'update_approved',
      // Whatever let it pass, an approval that was not fully checked stands out.
      severity: draft.closure.unchecked === null ? 'info' : 'warning',
      component: 'approvals',
      agentId: loaded.update.agent_id,
      actor,
      content: {
        update_id: loaded.update.id,
        package: packageOf(loaded),
        token_id: draft.tokenId,
        actor,
        approved_by: approvedBy,
        verdict: draft.closure.verdict,
        unchecked: draft.closure.unchecked,
        counts: partCounts(draft.closure),
        override: verdict.override !== null,
        decision: decisions[i],
      },
    });
  }
}

function approvalRow({ draft, attested, envelope, sha256, keyId }: Token): ApprovalRow {
  const { loaded, facts, verdict, approvedBy } = draft.minting;
  return {
    token_id: draft.tokenId,
    update_id: loaded.update.id,
    agent_id: loaded.update.agent_id,
    plan_id: draft.plan.id,
    envelope: JSON.stringify(envelope),
    payload_sha256: sha256,
    key_id: keyId,
    verdict: JSON.stringify({ ...gateReport(loaded, facts, verdict), introduces: [], stays: [], fixes: [] }),
    override_by: attested?.by ?? null,
    override_reason: verdict.override?.reason ?? null,
    override_event_id: attested?.event_id ?? null,
    approved_by: approvedBy,
    issued_at: draft.nowMs,
    expires_at: draft.expiresAtMs,
    voided_at: null,
    void_reason: null,
  };
}

function installCommand({ draft, sha256 }: Token): NewCommand {
  const { update } = draft.minting.loaded;
  return {
    agentId: update.agent_id,
    action: 'install_update',
    params: { update_id: update.id },
    updateId: update.id,
    approval: { tokenId: draft.tokenId, sha256 },
    notBeforeMs: draft.notBeforeMs,
    createdBy: draft.minting.actor,
  };
}

function stateChange({ draft }: Token): StateChange {
  const { minting, state, tokenId } = draft;
  const { override } = minting.verdict;
  return {
    updateId: minting.loaded.update.id,
    from: state,
    to: 'approved',
    reason: override && `override of ${stopText(override.stop)}`,
    actor: minting.actor,
    approvalId: tokenId,
    notBefore: minting.notBeforeMs,
  };
}

interface Token {
  readonly draft: Draft;
  /** The override as the token states it; null when none was needed. */
  readonly attested: ApprovalPayload['override'];
  readonly envelope: Envelope;
  readonly sha256: string;
  readonly keyId: string;
}

interface Draft {
  readonly deps: ApprovalDeps;
  readonly minting: Minting;
  readonly tokenId: string;
  /** State of the update, whose row is locked. */
  readonly state: 'pending' | 'awaiting_plan';
  readonly plan: StoredPlan;
  readonly closure: ClosureFacts;
  readonly age: AgeFacts;
  readonly nowMs: number;
  readonly notBeforeMs: number;
  readonly expiresAtMs: number;
}

const payloads = Compile(ApprovalPayload);

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
      ...(closure.unchecked !== null && { unchecked: closure.unchecked }),
      age: age.status,
      checked_at: closure.checkedAtMs === null ? null : rfc3339Seconds(closure.checkedAtMs),
      source: closure.source,
      snapshot: closure.snapshot,
    },
    override,
    issued_at: rfc3339Seconds(draft.nowMs),
    expires_at: rfc3339Seconds(draft.expiresAtMs),
  };
  if (!payloads.Check(payload)) throw new Error('the minted approval fails its own schema');
  return payload;
}

/** A5: every override leaves a system event with package, cause and the operator's reason. */
async function recordOverride(
  tx: Tx,
  { platform }: ApprovalDeps,
  { loaded, verdict, approvedBy }: Minting,
  { stop, reason }: Override,
): Promise<NonNullable<ApprovalPayload['override']>> {
  const { closure } = verdict.judged;
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
        blocked_by: stop.by,
        reason: stop.reason,
        verdict: closure.verdict,
        unchecked: closure.unchecked,
        ...eventParts(closure),
      },
      reason,
      update_id: loaded.update.id,
      actor: approvedBy,
    },
  });
  return { by: approvedBy.slice(0, 128), reason_sha256: sha256Hex(reason), event_id: eventId };
}

/** The log line of an override, written after its transaction is committed. */
export function logOverride({ platform }: ApprovalDeps, { loaded, verdict, approvedBy }: Minting): void {
  if (!verdict.override) return;
  platform.log.security(MARKERS.gateOverridden, {
    update_id: loaded.update.id,
    package: loaded.update.name,
    version: loaded.update.available_version,
    cause: stopText(verdict.override.stop),
    operator: approvedBy,
  });
}
