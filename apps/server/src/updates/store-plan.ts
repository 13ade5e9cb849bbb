import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { Plan } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { findUpdates } from './many-store.ts';
import { dropPlans, findPlanOf, insertPlan, putPlanSets, type StoredPlan, setPlan } from './store.ts';
import { setDigest } from './update-set.ts';

/** An approval binds the plan of its update (A4): once approved, a newer plan is only stored beside it. */
const PLAN_IS_BOUND: readonly string[] = ['approved', 'installing', 'installed', 'superseded'];

/** How long the plan of a joint set is kept, in milliseconds; a newer one is asked for. */
const PLANS_KEPT_MS = 30 * 24 * 3_600_000;

export interface NewPlan {
  readonly agentId: string;
  readonly ecosystem: Ecosystem;
  /** Updates of this host and ecosystem, all of which the plan brings. */
  readonly sets: readonly (readonly string[])[];
  readonly plan: Plan;
  readonly planSha256?: string | undefined;
}

/**
 * Stores a plan that passed `planFaults` as the newest of each joint set. The row of a single update points at it too,
 * unless that is approved already. Identical actions of a host are stored once. The fleet's ledger records the
 * artifacts.
 */
export async function storePlan(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, ecosystem, sets, plan, planSha256 = planDigest(plan) }: NewPlan,
): Promise<StoredPlan> {
  const nowMs = platform.now();
  const present = await findPlanOf(tx, { agentId, planSha256 });
  const stored = present ?? (await addPlan(tx, platform, { agentId, ecosystem, plan, planSha256 }));
  const joint = sets.filter((set) => set.length > 1);
  if (joint.length > 0) {
    await putPlanSets(tx, { sets: joint.map(setDigest), planId: stored.id, nowMs });
    await dropPlans(tx, { agentId, beforeMs: nowMs - PLANS_KEPT_MS });
  }
  const single = sets.flatMap((set) => (set.length === 1 ? set : []));
  for (const update of (await findUpdates(tx, single)).values()) {
    if (update.plan_id === stored.id || PLAN_IS_BOUND.includes(update.state)) continue;
    await setPlan(tx, { updateId: update.id, planId: stored.id, nowMs });
  }
  return stored;
}

async function addPlan(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, ecosystem, plan, planSha256 }: Omit<Required<NewPlan>, 'sets'> & { planSha256: string },
): Promise<StoredPlan> {
  const { actions } = plan;
  const stored: StoredPlan = {
    ...{ id: platform.newId(), agentId, actions, planSha256 },
    ...{ resolvedAtMs: Date.parse(plan.resolved_at), receivedAtMs: platform.now() },
  };
  await insertPlan(tx, stored);
  await recordArtifacts(tx, platform, { agentId, ecosystem, actions });
  return stored;
}

/** The RFC 8785 form of the actions (docs/protocol/documents.md). */
export function canonicalPlan(plan: Pick<Plan, 'actions'>): string {
  return canonicalJson(plan.actions);
}

/** SHA-256 of the canonical plan, in hex. */
export function planDigest(plan: Pick<Plan, 'actions'>): string {
  return sha256Hex(canonicalPlan(plan));
}
