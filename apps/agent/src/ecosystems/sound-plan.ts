import { Plan, type PlanAction, planFaults } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import type { PlanOutcome } from './ecosystem.ts';

/** A plan of these actions, if the protocol allows it. */
export function soundPlan(actions: PlanAction[], resolvedAt: Date): PlanOutcome {
  const plan = { resolved_at: resolvedAt.toISOString(), actions };
  const fault = planFaults(plan)[0];
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  if (!Check(Plan, plan)) return { ok: false, reason: 'the plan exceeds the limits of the protocol' };
  return { ok: true, plan };
}
