import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { Plan } from '@tidegate/protocol/plan';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { findUpdate, insertPlan, readPlan, type StoredPlan, setPlan } from './store.ts';
import { setDigest } from './update-set.ts';

/** An approval binds the plan of its update (A4): once approved, a newer plan is only stored beside it. */
const PLAN_IS_BOUND: readonly string[] = ['approved', 'installing', 'installed', 'superseded'];

/**
 * Stores a plan that passed `planFaults` as its update's plan, unless that is approved already. Identical
 * actions reuse the stored plan. The fleet's ledger records its artifacts. Throws if the update is missing.
 */
export async function storePlan(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { updateId, plan, planSha256 = planDigest(plan) }: { updateId: string; plan: Plan; planSha256?: string },
): Promise<StoredPlan> {
  const update = await findUpdate(tx, updateId);
  if (!update) throw new Error('a plan belongs to an update');
  const present = update.plan_id === null ? null : await readPlan(tx, update.plan_id);
  if (present?.planSha256 === planSha256) return present;
  const stored: StoredPlan = {
    id: platform.newId(),
    setSha256: setDigest([updateId]),
    resolvedAtMs: Date.parse(plan.resolved_at),
    receivedAtMs: platform.now(),
    actions: plan.actions,
    planSha256,
  };
  await insertPlan(tx, stored);
  const { agent_id: agentId, ecosystem } = update;
  if (!Value.Check(Ecosystem, ecosystem)) throw new Error(`the update ${updateId} has an unknown ecosystem`);
  await recordArtifacts(tx, platform, { agentId, ecosystem, actions: plan.actions });
  if (!PLAN_IS_BOUND.includes(update.state)) {
    await setPlan(tx, { updateId, planId: stored.id, nowMs: stored.receivedAtMs });
  }
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
