import { awaitPlan } from '../commands/await-plan.ts';
import { type AwaitedSet, awaitedSets } from '../commands/awaited-store.ts';
import { updatesOfCommand } from '../commands/named-updates.ts';
import { newestPlanRequest } from '../commands/store.ts';
import { withdrawApprovals } from '../commands/withdraw-approvals.ts';
import { weighedChunks } from '../platform/db/chunks.ts';
import type { Tx } from '../platform/db/engine.ts';
import { aheadTime } from '../platform/retention/retention-clock.ts';
import { askingPolicy, payloadOf } from '../policies/policy-view.ts';
import { untilOf, windowOf } from '../policies/policy-windows.ts';
import { type PolicyRow, versionsInForce } from '../policies/store.ts';
import { lockUpdates } from '../updates/lock-updates.ts';
import { transitionHeld } from '../updates/transition-update.ts';
import { setDigest } from '../updates/update-set.ts';
import { type ApprovalDeps, policyOf, WAIT_MS } from './deps.ts';
import { halvesOf, type SplitSet, splitFlagged } from './flagged-set-rules.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { stopText } from './gate-report.ts';
import { factsOf, waitForSources } from './load-facts.ts';
import {
  type LoadedSet,
  loadSets,
  membersOf,
  onlyUpdateOf,
  subjectsOfUpdate,
  updateIdsOf,
} from './load-update.ts';
import { mintApproval } from './mint-approval.ts';
import { logBlock, recordBlock } from './record-block.ts';
import { recordDecision } from './record-decision.ts';
import { requestInForce } from './standing.ts';
import type { BlockedVerdict, Verdict } from './verdict.ts';
import { withPolicyInForce } from './vulnerability-policy.ts';

/** How long an approval waits for its plan before it returns to an operator, in milliseconds. */
export const PLAN_WAIT_MS = 24 * 3_600_000;
const PAGE_SETS = 100;
/** Updates whose sets are judged together; a larger set is judged alone. */
const JUDGED_UPDATES = 100;
const SWEEP: ApprovalRequest = { by: 'sweep', override: false, overrideReason: null };
/** Requests that will bring no plan. */
const ENDED: readonly string[] = ['failed', 'refused', 'interrupted'];

/**
 * The automatic confirmation (A8): an approval that waited for its plan is minted if the closure is clear, by the same
 * decision as an operator's approval; otherwise it returns to an operator with the reason. The sweep never mints for an
 * unchecked or vulnerable closure. Of a flagged set the updates return that the gate stops; the others are planned again.
 */
export async function sweepOnce(deps: ApprovalDeps, isStopped: () => boolean = () => false): Promise<void> {
  let after = '';
  for (;;) {
    const page = await awaitedSets(deps.platform.database.read, { after, limit: PAGE_SETS });
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.setSha256;
    const weigh = ({ updateIds }: AwaitedSet) => updateIds.length;
    for (const some of weighedChunks(page, { weigh, most: JUDGED_UPDATES })) {
      if (isStopped()) return;
      await sweepSets(deps, some);
    }
  }
}

async function sweepSets(opened: ApprovalDeps, awaited: readonly AwaitedSet[]): Promise<void> {
  const deps = await withPolicyInForce(opened);
  const loaded = await loadSets(
    deps,
    awaited.map(({ updateIds }) => updateIds),
  );
  const asked = new Map(awaited.map((one) => [setDigest(one.updateIds), one]));
  const subjects = loaded.map(subjectsOfUpdate);
  const waited = await waitForSources(
    deps,
    {
      advisories: subjects.flatMap(({ advisories }) => advisories),
      aged: subjects.flatMap(({ aged }) => aged),
    },
    deps.waitMs ?? WAIT_MS,
  );
  const facts = await factsOf(deps, loaded, waited);
  const aheadMs = await aheadTime(deps.platform);
  const policies = await versionsInForce(deps.platform.database.read, {
    digests: awaited.flatMap(({ policy }) => policy?.sha256 ?? []),
    nowMs: deps.platform.now(),
  });
  for (const [i, one] of loaded.entries()) {
    const known = facts[i];
    const by = asked.get(setDigest(updateIdsOf(one)));
    if (!known || !by) continue;
    const policy = by.policy && (policies.get(by.policy.sha256) ?? null);
    const request = policy ? await requestOfPolicy(deps, policy, { loaded: one, facts: known }) : SWEEP;
    const verdict = judge(known, policyOf(deps), request);
    const isOfFuture = aheadMs !== null && by.askedAtMs > aheadMs;
    await sweepSet(deps, { loaded: one, facts: known, asked: by, isOfFuture, policy, request, verdict });
  }
}

/** The terms of the policy hold for what waits in its name, also when nobody looks. */
function requestOfPolicy(
  { platform }: ApprovalDeps,
  row: PolicyRow,
  of: { loaded: LoadedSet; facts: UpdateFacts },
): Promise<ApprovalRequest> {
  const asked = { by: 'sweep', ...of, atMs: platform.now() } as const;
  return requestInForce(platform.database.read, askingPolicy(row), asked);
}

interface Judged {
  readonly loaded: LoadedSet;
  readonly facts: UpdateFacts;
  readonly verdict: Verdict;
  readonly asked: AwaitedSet;
  /** Asked for by a clock that was ahead: its request for a plan and its time would come when that time comes. */
  readonly isOfFuture: boolean;
  readonly request: ApprovalRequest;
  /** The policy in whose name it waits; null: in a person's name, or the policy has ended. */
  readonly policy: PolicyRow | null;
}

async function sweepSet(deps: ApprovalDeps, judged: Judged): Promise<void> {
  const { loaded, facts, verdict, asked } = judged;
  if (loaded.agent.status === 'revoked') return void (await handBack(deps, judged, 'agent_revoked'));
  if (judged.isOfFuture) return void (await handBack(deps, judged, 'clock_set_back'));
  if (asked.policy && !judged.policy) return void (await handBack(deps, judged, 'policy_ended'));
  const window = judged.policy && windowOf(payloadOf(judged.policy), 'install', deps.platform.now());
  // The policy asks for it again when its next window opens.
  if (window?.kind === 'closed') return void (await handBack(deps, judged, 'window_closed'));
  // An update of the set has ended, or an operator has taken it out: the others are another transaction.
  if (setDigest(updateIdsOf(loaded)) !== asked.setSha256) {
    return planAgain(deps, judged, { stopped: [], rest: [updateIdsOf(loaded)] });
  }
  switch (verdict.kind) {
    case 'plan_unknown': {
      if (deps.platform.now() - asked.askedAtMs >= PLAN_WAIT_MS) {
        return void (await handBack(deps, judged, 'no_plan'));
      }
      if (await isUnplannable(deps, asked)) await halve(deps, judged, 'no_plan');
      return;
    }
    case 'blocked':
      return blocked(deps, judged, verdict);
    case 'mint': {
      const { request } = judged;
      const asking = {
        approvedBy: asked.askedBy,
        actor: 'sweep',
        request,
        via: 'sweep',
        bulkId: asked.bulkId,
      } as const;
      const until = window && untilOf(window);
      const times = { notBeforeMs: notBeforeOf(loaded), until };
      const minting = { loaded, facts, verdict, ...asking, ...times };
      const minted = await deps.platform.database.transact((tx) => mintApproval(tx, deps, minting));
      if (minted.kind === 'too_large') await halve(deps, judged, 'plan_too_large');
      if (minted.kind === 'policy_ended') await handBack(deps, judged, 'policy_ended');
      if (minted.kind === 'other_version') await halve(deps, judged, 'other_version_approved');
      return;
    }
    case 'verdict_pending':
    case 'plan_required':
    case 'override_reason_required':
      // Not judged yet: the next sweep tries again.
      return;
  }
}

/** The latest time that an operator has named for one of them. */
function notBeforeOf({ updates }: LoadedSet): number | null {
  const times = updates.flatMap(({ not_before }) => not_before ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

/** Whether the agent has answered that there is no transaction of this set. */
async function isUnplannable(
  { platform }: ApprovalDeps,
  { updateIds, setSha256 }: AwaitedSet,
): Promise<boolean> {
  const [updateId = '', ...others] = updateIds;
  if (others.length === 0) return false; // its result has returned it
  const request = await newestPlanRequest(platform.database.read, updateId);
  if (!request || !ENDED.includes(request.status)) return false;
  return setDigest(updatesOfCommand(request)) === setSha256;
}

async function blocked(deps: ApprovalDeps, judged: Judged, verdict: BlockedVerdict): Promise<void> {
  const { loaded, asked } = judged;
  const reason = stopText(verdict.stop);
  if (loaded.updates.length === 1) {
    const isBack = await handBack(deps, judged, reason);
    if (isBack && verdict.stop.by !== 'policy')
      logBlock(deps, { loaded: onlyUpdateOf(loaded), verdict, actor: 'sweep' });
    return;
  }
  const members = await membersOf(deps, loaded);
  const split = splitFlagged(members, { verdict, round: asked.round });
  await planAgain(deps, judged, split);
  for (const update of loaded.updates.filter(({ id }) => split.stopped.includes(id))) {
    logBlock(deps, { loaded: { ...loaded, updates: [update], update }, verdict, actor: 'sweep' });
  }
}

/** Plans both halves of a set; a single update returns to an operator. */
async function halve(deps: ApprovalDeps, judged: Judged, reason: string): Promise<void> {
  const rest = halvesOf(updateIdsOf(judged.loaded));
  if (rest.length === 0) await handBack(deps, judged, reason);
  else await planAgain(deps, judged, { stopped: [], rest });
}

/** Returns the stopped updates to an operator, and lets the rest wait for plans of their own. */
async function planAgain(deps: ApprovalDeps, judged: Judged, { stopped, rest }: SplitSet): Promise<void> {
  const { loaded, verdict, asked } = judged;
  const byId = new Map(loaded.updates.map((update) => [update.id, update]));
  await deps.platform.database.transact(async (tx) => {
    for (const id of stopped) {
      const update = byId.get(id);
      if (!update || verdict.kind !== 'blocked') continue;
      await returnSet(
        tx,
        deps,
        { ...judged, loaded: { ...loaded, updates: [update] } },
        stopText(verdict.stop),
      );
    }
    for (const ids of rest) {
      await awaitPlan(tx, deps.platform, {
        updates: ids.flatMap((id) => byId.get(id) ?? []),
        ...{ askedBy: asked.askedBy, policy: asked.policy, bulkId: asked.bulkId },
        ...{ askedAtMs: asked.askedAtMs, round: asked.round + 1 },
        ...{ actor: 'sweep', notBeforeMs: null },
      });
    }
  });
}

/** Returns a set to an operator, with the evidence; false when another decision came first. */
async function handBack(deps: ApprovalDeps, judged: Judged, reason: string): Promise<boolean> {
  return deps.platform.database.transact((tx) => returnSet(tx, deps, judged, reason));
}

async function returnSet(tx: Tx, deps: ApprovalDeps, judged: Judged, reason: string): Promise<boolean> {
  const { loaded, facts, verdict, request } = judged;
  const { platform } = deps;
  const locked = await lockUpdates(tx, { engine: platform.database.engine, updateIds: updateIdsOf(loaded) });
  const updates = loaded.updates.filter(({ id }) => locked.get(id)?.state === 'awaiting_plan');
  if (updates.length === 0) return false;
  await transitionHeld(
    tx,
    platform,
    updates.map(({ id: updateId }) => ({
      ...{ updateId, from: 'awaiting_plan', to: 'pending', reason, actor: 'sweep' },
      ...{ approvalId: null, notBefore: null },
    })),
  );
  await withdrawApprovals(tx, platform, { updateIds: updates.map(({ id }) => id), reason, actor: 'sweep' });
  const decision = await recordDecision(tx, deps, {
    ...{ loaded: { ...loaded, updates }, facts, verdict, request, via: 'sweep', actor: 'sweep' },
    ...{ bulkId: judged.asked.bulkId },
    ...{ approvedBy: null, outcome: 'handed_back', outcomeReason: reason, tokenId: null },
  });
  const [update, ...others] = updates;
  // The terms of a policy are no stop of the gate.
  const isStopped = verdict.kind === 'blocked' && verdict.stop.by !== 'policy';
  if (isStopped && update && others.length === 0) {
    const block = { loaded: { ...loaded, updates, update }, facts, verdict, actor: 'sweep', decision };
    await recordBlock(tx, deps, block);
  }
  return true;
}
