import {
  APPROVAL_MAX_BYTES,
  APPROVAL_TYPE,
  ApprovalPayload,
  type ApprovedUpdate,
  type Envelope,
} from '@tidegate/protocol/documents';
import type { PolicyReference } from '@tidegate/protocol/policies-api';
import { Compile } from 'typebox/compile';
import type { Basis } from '../advisories/basis-rules.ts';
import type { ClosureFacts } from '../advisories/closure-facts.ts';
import { partCounts } from '../advisories/closure-parts.ts';
import { holdSnapshots } from '../advisories/mirror/store.ts';
import { withTags } from '../agents/host-scope.ts';
import { insertApprovals, liveTokensOf, type NewApproval, voidTokens } from '../approval-tokens/store.ts';
import { createThaws } from '../blackouts/blackout-rules.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { usualDurations } from '../commands/durations-store.ts';
import { COMMAND_LIFETIME_MS, type NewCommand, queueCommands } from '../commands/queue-command.ts';
import { appendEvent } from '../events/append-event.ts';
import { usedOrigins } from '../origins/origin-rules.ts';
import { originsInForce } from '../origins/store.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import { MARKERS } from '../platform/log.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { latestStart, type WindowEnd } from '../policies/policy-windows.ts';
import { versionsInForce } from '../policies/store.ts';
import { holdGoing } from '../rollouts/store.ts';
import { type LockedUpdate, lockUpdates } from '../updates/lock-updates.ts';
import { plansOfSets, type StateChange } from '../updates/many-store.ts';
import { openVersionsOf, packageOfHost, type Rival, rivalsOf } from '../updates/rivals-store.ts';
import type { StoredPlan, UpdateRow } from '../updates/store.ts';
import { transitionHeld } from '../updates/transition-update.ts';
import { namedForEvent } from '../updates/update-set.ts';
import { idsInForce } from '../vex/store.ts';
import type { AgeFacts } from './age-rules.ts';
import { usedStatements } from './counting-rules.ts';
import type { ApprovalDeps } from './deps.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { originChangesOf, packageOf, stopText, verdictReport } from './gate-report.ts';
import { basesOf, divergencesOfPlans, heldOfPlans } from './load-facts.ts';
import { type LoadedSet, onlyUpdateOf, updateIdsOf } from './load-update.ts';
import { type Decision, recordDecisions } from './record-decision.ts';
import type { MintVerdict, Override } from './verdict.ts';
import { EVENT_PART_MAX, eventParts } from './verdict-parts.ts';

/** Life of an approval from its earliest delivery, which a blackout may delay (docs/protocol/limits.md), in milliseconds. */
export const APPROVAL_LIFETIME_MS = 7 * 24 * 3_600_000;
/** Most bytes of an envelope without its actions and updates. */
const ENVELOPE_RESERVE_BYTES = 32 * 1024;

export interface Minting {
  readonly loaded: LoadedSet;
  readonly facts: UpdateFacts;
  readonly verdict: MintVerdict;
  /** The operator who is accountable for it. */
  readonly approvedBy: string;
  /** The acting party: that operator, `sweep` or `policy`. */
  readonly actor: string;
  /** The request that the gate judged. */
  readonly request: ApprovalRequest;
  readonly via: Decision['via'];
  /** The event of the bulk request that it came with; null: with none. */
  readonly bulkId: string | null;
  readonly notBeforeMs: number | null;
  /** The window in which the host may begin, with which the token ends; null: after APPROVAL_LIFETIME_MS. */
  readonly until: WindowEnd | null;
}

export type Minted =
  | { readonly kind: 'minted'; readonly tokenId: string; readonly token: Envelope }
  /** Another decision came first. */
  | { readonly kind: 'conflict' }
  /** Another version of one of its packages is approved for the host, or comes first in the same request. */
  | { readonly kind: 'other_version'; readonly version: string }
  /** The plan is no longer the judged one, or an artifact of it now diverges. */
  | { readonly kind: 'plan_changed' }
  /** The policy that asks is not in force any more, its window has closed, or its rollout stands still. */
  | { readonly kind: 'policy_ended' }
  /** The facts about its packages are no longer the judged ones. */
  | { readonly kind: 'verdict_changed' }
  | { readonly kind: 'too_large' };

/**
 * Mints the signed token of a set of updates that the gate passed: token, command, states, history and events in the
 * caller's transaction. The rows of the updates are locked first, so that of many simultaneous approvals only one mints.
 * Writes nothing unless the result is `minted`. The token binds the artifact hashes of the exact plan that was judged (A4).
 */
export async function mintApproval(tx: Tx, deps: ApprovalDeps, minting: Minting): Promise<Minted> {
  const [minted] = await mintApprovals(tx, deps, [minting]);
  if (!minted) throw new Error('every minting has an outcome');
  return minted;
}

/** The same for sets without a common update, in the given order and independently of each other. */
export async function mintApprovals(
  tx: Tx,
  deps: ApprovalDeps,
  mintings: readonly Minting[],
): Promise<Minted[]> {
  const sets = mintings.map(({ loaded }) => loaded);
  const updateIds = sets.flatMap(updateIdsOf);
  const beside = await openVersionsOf(tx, updateIds);
  const locked = await lockUpdates(tx, {
    engine: deps.platform.database.engine,
    updateIds: [...new Set([...updateIds, ...beside])],
  });
  const rivals = await rivalsOf(tx, updateIds);
  const minted = new Map<string, string>();
  const plans = await presentPlans(tx, sets, locked);
  // Another host may have reported another hash since the gate decided.
  const diverging = await divergencesOfPlans(tx, sets);
  // Or an operator has put a package on hold.
  const held = await heldOfPlans(tx, sets, deps.platform.now());
  // An advisory may have arrived too: minting rests on the newest snapshot at commit.
  await holdSnapshots(tx, deps.platform.database);
  const bases = await basesOf(tx, deps, sets);
  // An operator may have revoked a statement or an origin.
  const inForce = await idsInForce(tx, {
    ids: mintings.flatMap(({ verdict }) => usedStatements(verdict.excused).map(({ id }) => id)),
    nowMs: deps.platform.now(),
  });
  const registered = mintings.some(({ verdict }) => lettingPass(verdict).length > 0)
    ? new Set((await originsInForce(tx, deps.platform.now())).map(({ id }) => id))
    : new Set<string>();
  // So may the author of a policy, or lose the right.
  const policies = await versionsInForce(tx, {
    digests: mintings.flatMap(({ request }) => request.standing?.sha256 ?? []),
    nowMs: deps.platform.now(),
  });
  // And a rollout may have been halted.
  const going = await holdGoing(
    tx,
    mintings.flatMap(({ request }) => request.standing?.ring?.rolloutIds ?? []),
  );
  const blackouts = await liveBlackouts(tx, deps.platform.now());
  const thawOf = createThaws(blackouts, deps.platform.now());
  const hosts = await withTags(
    tx,
    mintings.map(({ loaded: { agent } }) => ({ id: agent.id, group: agent.group_name })),
    blackouts.map(({ scope }) => scope),
  );
  const usual = await usualDurations(tx, {
    agentIds: mintings.flatMap(({ until, loaded }) => (until ? loaded.agent.id : [])),
    nowMs: deps.platform.now(),
  });
  const tokens: Token[] = [];
  const outcomes: Minted[] = [];
  for (const [i, minting] of mintings.entries()) {
    const { loaded, request } = minting;
    const host = hosts[i];
    if (!host) throw new Error('a minting without a host');
    const thawMs = thawOf(host);
    const { until } = minting;
    const notAfterMs = until ? latestStart(until, usual.get(loaded.agent.id) ?? 0) : Infinity;
    const isLate = notAfterMs <= thawMs;
    const { standing } = request;
    const isHalted = !(standing?.ring?.rolloutIds ?? []).every((id) => going.has(id));
    if (isLate || isHalted || (standing && !policies.has(standing.sha256))) {
      outcomes.push({ kind: 'policy_ended' });
      continue;
    }
    const rival = rivalOfSet(loaded, { rivals, minted });
    if (rival !== null) {
      outcomes.push({ kind: 'other_version', version: rival });
      continue;
    }
    const isDiverging = (diverging[i] ?? []).length > 0;
    const isStated =
      usedStatements(minting.verdict.excused).every(({ id }) => inForce.has(id)) &&
      lettingPass(minting.verdict).every(({ id }) => registered.has(id));
    const isHeld = (held[i] ?? []).length > 0;
    const basis = isStated && !isHeld ? bases.get(loaded) : undefined;
    const present = { locked, planId: plans.get(loaded), isDiverging, basis, thawMs, notAfterMs };
    const draft = draftOf(deps, minting, present);
    if ('kind' in draft) {
      outcomes.push(draft);
      continue;
    }
    const token = await signDraft(tx, draft);
    tokens.push(token);
    for (const update of loaded.updates) minted.set(packageOfHost(update), update.available_version);
    outcomes.push({ kind: 'minted', tokenId: draft.tokenId, token: token.envelope });
  }
  if (tokens.length > 0) await writeTokens(tx, deps, tokens);
  return outcomes;
}

/**
 * The other version of a package of this set that is approved, or was approved in this request; null if there is none.
 * Two live tokens for one package of a host would depend on the order in which it runs them.
 */
function rivalOfSet(
  { updates }: LoadedSet,
  { rivals, minted }: { rivals: ReadonlyMap<string, Rival>; minted: ReadonlyMap<string, string> },
): string | null {
  const own = new Map<string, string>();
  for (const update of updates) {
    const key = packageOfHost(update);
    const rival = rivals.get(update.id);
    // One that waits for its plan has no token; of the two, the first to have one wins.
    const approved = rival?.state === 'awaiting_plan' ? undefined : rival?.version;
    const version = approved ?? minted.get(key) ?? own.get(key);
    if (version !== undefined) return version;
    own.set(key, update.available_version);
  }
  return null;
}

/** The id of the plan of each set, by the rows that are locked. */
async function presentPlans(
  tx: Tx,
  sets: readonly LoadedSet[],
  locked: ReadonlyMap<string, LockedUpdate>,
): Promise<Map<LoadedSet, string | undefined>> {
  const rows = sets.map(({ updates }) =>
    updates.map(({ id }) => ({ id, plan_id: locked.get(id)?.plan_id ?? null })),
  );
  const plans = await plansOfSets(tx, rows);
  return new Map(sets.map((set, i) => [set, plans[i]]));
}

/** What a transaction that holds the rows of a set finds. */
interface Present {
  /** The rows by id; one that is gone is missing. */
  readonly locked: ReadonlyMap<string, LockedUpdate>;
  readonly planId: string | undefined;
  readonly isDiverging: boolean;
  readonly basis: Basis | undefined;
  /** When no blackout withholds the command any more; the present if none does. */
  readonly thawMs: number;
  /** When the host may begin at the latest. */
  readonly notAfterMs: number;
}

function draftOf(
  deps: ApprovalDeps,
  minting: Minting,
  { locked, planId, isDiverging, basis, thawMs, notAfterMs }: Present,
): Draft | Exclude<Minted, { kind: 'minted' }> {
  const { platform } = deps;
  const { planned } = minting.loaded;
  const { judged } = minting.verdict;
  if (!planned || planId !== planned.plan.id) return { kind: 'plan_changed' };
  const { updates } = minting.loaded;
  const open = updates.flatMap(({ id: updateId }): Draft['open'] => {
    const from = locked.get(updateId)?.state;
    return from === 'pending' || from === 'awaiting_plan' ? [{ updateId, from }] : [];
  });
  if (open.length < updates.length) return { kind: 'conflict' };
  if (isDiverging) return { kind: 'plan_changed' };
  if (!basis || judged.closure.basis?.mark !== basis.mark) return { kind: 'verdict_changed' };
  // Checked before any write: base64 adds a third, the rest of the payload stays below the reserve.
  const boundBytes = Buffer.byteLength(JSON.stringify([planned.plan.actions, updates.map(approvedUpdate)]));
  if ((boundBytes * 4) / 3 + ENVELOPE_RESERVE_BYTES > APPROVAL_MAX_BYTES) return { kind: 'too_large' };
  const nowMs = platform.now();
  const notBeforeMs = Math.max(nowMs, minting.notBeforeMs ?? nowMs);
  // A blackout withholds the command until its end, or until somebody ends it.
  const deliveredMs = Math.max(notBeforeMs, thawMs);
  return {
    ...{ deps, minting, tokenId: platform.newId(), open },
    ...{ plan: planned.plan, closure: judged.closure, age: judged.age },
    ...{ nowMs, notBeforeMs, expiresAtMs: Math.min(deliveredMs + APPROVAL_LIFETIME_MS, notAfterMs) },
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
  // None where the states are right; the index would refuse a second token for an update.
  const replaced = await liveTokensOf(
    tx,
    tokens.flatMap(({ draft }) => updateIdsOf(draft.minting.loaded)),
  );
  await voidTokens(tx, { tokenIds: replaced, reason: 'replaced', nowMs });
  await insertApprovals(tx, tokens.map(newApproval));
  await queueCommands(tx, platform, tokens.map(installCommand));
  await transitionHeld(tx, platform, tokens.flatMap(stateChanges));
  const decisions = await recordDecisions(
    tx,
    deps,
    tokens.map(({ draft: { minting, tokenId } }) => {
      const { loaded, facts, verdict, request, via, bulkId, actor, approvedBy } = minting;
      const decided = { loaded, facts, verdict, request, via, bulkId, actor, approvedBy, tokenId };
      return { ...decided, outcome: 'minted', outcomeReason: null };
    }),
  );
  for (const [i, { draft }] of tokens.entries()) {
    const { loaded, facts, verdict, actor, approvedBy, request, bulkId } = draft.minting;
    const policy = referenceOf(request);
    const changes = originChangesOf(facts, EVENT_PART_MAX);
    await appendEvent(tx, platform, {
      kind: 'system',
      type: 'update_approved',
      // Whatever let it pass, an approval that was not fully checked stands out, and so does a new vendor.
      severity: draft.closure.unchecked === null && changes.length === 0 ? 'info' : 'warning',
      component: 'approvals',
      agentId: loaded.agent.id,
      actor,
      content: {
        ...namedForEvent(loaded.updates),
        token_id: draft.tokenId,
        actor,
        approved_by: approvedBy,
        verdict: draft.closure.verdict,
        unchecked: draft.closure.unchecked,
        counts: partCounts(draft.closure),
        override: verdict.override !== null,
        ...(policy && { policy }),
        ...(bulkId !== null && { bulk_id: bulkId }),
        ...statementIds(verdict),
        ...originIds(verdict),
        ...(changes.length > 0 && { origin_changes: changes }),
        decision: decisions[i],
      },
    });
  }
}

/** The policy that asks, as tokens and events name it. */
function referenceOf({ standing }: ApprovalRequest): PolicyReference | null {
  return standing ? { policy_id: standing.policyId, sha256: standing.sha256 } : null;
}

/** Each use of an operator's statement is in the event too. */
function statementIds({ excused }: MintVerdict): { statements?: string[] } {
  const ids = usedStatements(excused).map(({ id }) => id);
  return ids.length > 0 ? { statements: ids } : {};
}

/** The registered origins without which the gate had stopped. */
function lettingPass({ judged, warnings }: MintVerdict) {
  return warnings.includes('registered_origin_used') ? usedOrigins(judged.origins) : [];
}

function originIds(verdict: MintVerdict): { origins?: string[] } {
  const ids = lettingPass(verdict).map(({ id }) => id);
  return ids.length > 0 ? { origins: ids } : {};
}

function newApproval({ draft, attested, envelope, sha256, keyId }: Token): NewApproval {
  const { loaded, facts, verdict, approvedBy, request, bulkId } = draft.minting;
  const standing = referenceOf(request);
  const policy = standing && { policy_id: standing.policy_id, policy_sha256: standing.sha256 };
  const row = {
    token_id: draft.tokenId,
    agent_id: loaded.agent.id,
    plan_id: draft.plan.id,
    envelope: JSON.stringify(envelope),
    payload_sha256: sha256,
    key_id: keyId,
    verdict: JSON.stringify({ ...verdictReport(facts, verdict), introduces: [], stays: [], fixes: [] }),
    override_by: attested?.by ?? null,
    override_reason: verdict.override?.reason ?? null,
    override_event_id: attested?.event_id ?? null,
    approved_by: approvedBy,
    ...(policy ?? { policy_id: null, policy_sha256: null }),
    bulk_id: bulkId,
    issued_at: draft.nowMs,
    expires_at: draft.expiresAtMs,
    voided_at: null,
    void_reason: null,
  };
  return { row, updateIds: updateIdsOf(loaded) };
}

function installCommand({ draft, sha256 }: Token): NewCommand {
  const { loaded } = draft.minting;
  return {
    agentId: loaded.agent.id,
    action: 'install_update',
    params: { update_ids: updateIdsOf(loaded) },
    approval: { tokenId: draft.tokenId, sha256 },
    notBeforeMs: draft.notBeforeMs,
    expiresAtMs: Math.min(draft.notBeforeMs + COMMAND_LIFETIME_MS, draft.expiresAtMs),
    createdBy: draft.minting.actor,
  };
}

function stateChanges({ draft }: Token): StateChange[] {
  const { minting, open, tokenId } = draft;
  const { override } = minting.verdict;
  return open.map((held) => ({
    ...held,
    to: 'approved',
    reason: override && `override of ${stopText(override.stop)}`,
    actor: minting.actor,
    approvalId: tokenId,
    notBefore: minting.notBeforeMs,
  }));
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
  /** The updates of the set with the states in which their rows are locked. */
  readonly open: readonly { readonly updateId: string; readonly from: 'pending' | 'awaiting_plan' }[];
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
  const { updates, agent, ecosystem } = minting.loaded;
  const statements = usedStatements(minting.verdict.excused).map(({ id, sha256 }) => ({ id, sha256 }));
  const origins = lettingPass(minting.verdict);
  const policy = referenceOf(minting.request);
  const payload = {
    v: 1,
    token_id: draft.tokenId,
    fleet_id: deps.keyRing.fleetId,
    agent_id: agent.id,
    ecosystem,
    updates: updates.map(approvedUpdate),
    actions: plan.actions,
    plan_sha256: plan.planSha256,
    verdict: {
      vulnerability: closure.verdict,
      ...(closure.unchecked !== null && { unchecked: closure.unchecked }),
      age: age.status,
      checked_at: closure.checkedAtMs === null ? null : rfc3339Seconds(closure.checkedAtMs),
      source: closure.source,
      snapshot: closure.snapshot,
      ...(statements.length > 0 && { statements }),
      ...(origins.length > 0 && { origins }),
    },
    override,
    ...(policy && { policy }),
    issued_at: rfc3339Seconds(draft.nowMs),
    expires_at: rfc3339Seconds(draft.expiresAtMs),
  };
  if (!payloads.Check(payload)) throw new Error('the minted approval fails its own schema');
  return payload;
}

function approvedUpdate(update: UpdateRow): ApprovedUpdate {
  return {
    update_id: update.id,
    name: update.name,
    ...(update.arch === '' ? {} : { arch: update.arch }),
    from_version: update.current_version || null,
    to_version: update.available_version,
  };
}

/** A5: every override leaves a system event with package, cause and the operator's reason. A6: it is of one update. */
async function recordOverride(
  tx: Tx,
  { platform }: ApprovalDeps,
  { loaded: set, verdict, approvedBy }: Minting,
  { stop, reason }: Override,
): Promise<NonNullable<ApprovalPayload['override']>> {
  const loaded = onlyUpdateOf(set);
  const { closure } = verdict.judged;
  const eventId = await appendEvent(tx, platform, {
    kind: 'system',
    type: 'supply_chain_override',
    severity: 'warning',
    component: 'security',
    agentId: loaded.agent.id,
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
export function logOverride({ platform }: ApprovalDeps, { loaded: set, verdict, approvedBy }: Minting): void {
  if (!verdict.override) return;
  const loaded = onlyUpdateOf(set);
  platform.log.security(MARKERS.gateOverridden, {
    update_id: loaded.update.id,
    package: loaded.update.name,
    version: loaded.update.available_version,
    cause: stopText(verdict.override.stop),
    operator: approvedBy,
  });
}
