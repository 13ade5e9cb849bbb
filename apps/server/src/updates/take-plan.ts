import { bundleFaults } from '@tidegate/protocol/bundles';
import { type Plan, type PlanFault, planFaults, targetFault } from '@tidegate/protocol/plan';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { UpdateState } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { chargeReport } from '../outsiders/charge.ts';
import type { LargeWork } from '../platform/http/large-work.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { takeTurn } from '../platform/turns.ts';
import { recordFirstSeen } from '../release-times/record-first-seen.ts';
import { findUpdate } from './store.ts';
import { canonicalPlan, storePlan } from './store-plan.ts';
import { targetOf } from './update-set.ts';

/** A plan of more actions is large and waits in the queue of large work. */
const LARGE_PLAN_ACTIONS = 500;

export interface PlanDeps {
  readonly platform: Platform;
  readonly large: Pick<LargeWork, 'admit'>;
}

export type PlanOutcome =
  | { readonly kind: 'stored'; readonly state: UpdateState }
  /** There is no such update, or it is another agent's. */
  | { readonly kind: 'not_found' }
  | { readonly kind: 'unsound'; readonly faults: readonly PlanFault[] };

/**
 * Takes the plan of an update from its agent, in one transaction: charged to the agent, stored, and noted in
 * the ledger of the fleet. A large plan waits for its turn; one that finds no room throws the Refusal
 * `unavailable` and is not charged, for it comes again.
 */
export async function takePlan(
  { platform, large }: PlanDeps,
  { agentId, updateId, plan }: { agentId: string; updateId: string; plan: Plan },
): Promise<PlanOutcome> {
  const faults = planFaults(plan);
  if (faults.length > 0) return { kind: 'unsound', faults };
  const { actions } = plan;
  // A body of 1 MiB has taken its time to be read and checked, and its canonical form takes as long.
  await takeTurn();
  const text = canonicalPlan(plan);
  const planSha256 = sha256Hex(text);
  const store = async (): Promise<PlanOutcome> => {
    await chargeReport(platform, { agentId, rows: actions.length, bytes: Buffer.byteLength(text) });
    return platform.database.transact(async (tx): Promise<PlanOutcome> => {
      const update = await findUpdate(tx, updateId);
      if (update?.agent_id !== agentId) return { kind: 'not_found' };
      const missed = targetFault(plan, targetOf(update));
      if (missed) return { kind: 'unsound', faults: [missed] };
      const ecosystem = Value.Parse(Ecosystem, update.ecosystem);
      const unbundled = bundleFaults({ ecosystem, actions });
      if (unbundled.length > 0) return { kind: 'unsound', faults: unbundled };
      await storePlan(tx, platform, { updateId, plan, planSha256 });
      await recordFirstSeen(tx, platform, { agentId, ecosystem, actions, packages: [] });
      return { kind: 'stored', state: Value.Parse(UpdateState, update.state) };
    });
  };
  return actions.length > LARGE_PLAN_ACTIONS ? large.admit(agentId, store) : store();
}
