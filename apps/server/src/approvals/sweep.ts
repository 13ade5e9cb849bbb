import { withdrawApprovals } from '../commands/withdraw-approvals.ts';
import { readHistory } from '../updates/store.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import { type ApprovalDeps, policyOf, WAIT_MS } from './deps.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { stopText } from './gate-report.ts';
import { factsOf, waitForSources } from './load-facts.ts';
import { type LoadedUpdate, loadUpdate, subjectsOfUpdate } from './load-update.ts';
import { mintApproval } from './mint-approval.ts';
import { logBlock, recordBlock } from './record-block.ts';
import { recordDecision } from './record-decision.ts';
import { awaitingUpdates } from './store.ts';
import type { Verdict } from './verdict.ts';
import { withPolicyInForce } from './vulnerability-policy.ts';

/** How long an approval waits for its plan before it returns to an operator, in milliseconds. */
export const PLAN_WAIT_MS = 24 * 3_600_000;
const PAGE_UPDATES = 100;
const SWEEP: ApprovalRequest = { by: 'sweep', override: false, overrideReason: null };

/**
 * The automatic confirmation (A8): an approval that waited for its plan is minted if the closure is clear, by the same
 * decision as an operator's approval; otherwise it returns to an operator with the reason. The sweep never mints for an
 * unchecked or vulnerable closure.
 */
export async function sweepOnce(deps: ApprovalDeps, isStopped: () => boolean = () => false): Promise<void> {
  let after = '';
  for (;;) {
    const ids = await awaitingUpdates(deps.platform.database.read, { after, limit: PAGE_UPDATES });
    const last = ids.at(-1);
    if (last === undefined || isStopped()) return;
    after = last;
    const loaded: LoadedUpdate[] = [];
    for (const id of ids) {
      const one = await loadUpdate(deps, id);
      if (one) loaded.push(one);
    }
    await sweepPage(deps, loaded);
  }
}

async function sweepPage(opened: ApprovalDeps, loaded: readonly LoadedUpdate[]): Promise<void> {
  const deps = await withPolicyInForce(opened);
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
  for (const [i, one] of loaded.entries()) {
    const known = facts[i];
    if (known) await sweepUpdate(deps, { loaded: one, facts: known });
  }
}

async function sweepUpdate(
  deps: ApprovalDeps,
  { loaded, facts }: { loaded: LoadedUpdate; facts: UpdateFacts },
): Promise<void> {
  const { database } = deps.platform;
  const asked = await askedBy(deps, loaded);
  const verdict = judge(facts, policyOf(deps), SWEEP);
  const judged = { loaded, facts, verdict };
  switch (verdict.kind) {
    case 'plan_unknown':
      if (deps.platform.now() - asked.atMs >= PLAN_WAIT_MS) await handBack(deps, judged, 'no_plan');
      return;
    case 'blocked': {
      const isBack = await handBack(deps, judged, stopText(verdict.stop));
      if (isBack) logBlock(deps, { loaded, verdict, actor: 'sweep' });
      return;
    }
    case 'mint': {
      if (loaded.agent.status === 'revoked') return void (await handBack(deps, judged, 'agent_revoked'));
      const asking = { approvedBy: asked.by, actor: 'sweep', request: SWEEP, via: 'sweep' } as const;
      const minting = { loaded, facts, verdict, ...asking };
      const notBeforeMs = loaded.update.not_before;
      const minted = await database.transact((tx) => mintApproval(tx, deps, { ...minting, notBeforeMs }));
      if (minted.kind === 'too_large') await handBack(deps, judged, 'plan_too_large');
      return;
    }
    case 'verdict_pending':
    case 'plan_required':
    case 'override_reason_required':
      // Not judged yet: the next sweep tries again.
      return;
  }
}

/** The operator who asked for the approval, and when: the newest transition to `awaiting_plan`. */
async function askedBy(
  { platform }: ApprovalDeps,
  { update }: LoadedUpdate,
): Promise<{ by: string; atMs: number }> {
  const history = await readHistory(platform.database.read, update.id);
  const step = history.find(({ to_state: state }) => state === 'awaiting_plan');
  return step ? { by: step.actor, atMs: step.at } : { by: 'sweep', atMs: update.updated_at };
}

interface Judged {
  readonly loaded: LoadedUpdate;
  readonly facts: UpdateFacts;
  readonly verdict: Verdict;
}

/** Returns an update to an operator, with the evidence; false when another decision came first. */
async function handBack(deps: ApprovalDeps, judged: Judged, reason: string): Promise<boolean> {
  const { loaded, verdict } = judged;
  const { update } = loaded;
  return deps.platform.database.transact(async (tx) => {
    const moved = await transitionUpdate(tx, deps.platform, {
      updateId: update.id,
      from: ['awaiting_plan'],
      to: 'pending',
      reason,
      actor: 'sweep',
      set: { not_before: null },
    });
    if (!moved) return false;
    await withdrawApprovals(tx, deps.platform, { updateIds: [update.id], reason, actor: 'sweep' });
    const decision = await recordDecision(tx, deps, {
      ...{ ...judged, request: SWEEP, via: 'sweep', actor: 'sweep', approvedBy: null },
      ...{ outcome: 'handed_back', outcomeReason: reason, tokenId: null },
    });
    if (verdict.kind === 'blocked') {
      await recordBlock(tx, deps, { loaded, verdict, actor: 'sweep', decision });
    }
    return true;
  });
}
