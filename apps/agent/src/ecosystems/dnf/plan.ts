import { Plan, planFaults } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { addArtifacts, toActions } from './actions.ts';
import { parseAnswer, TransactionAnswer } from './answers.ts';
import { isSafeArgument } from './names-rules.ts';
import type { DnfSession } from './session.ts';

/**
 * Resolves the update of one package: everything installed, upgraded, downgraded or removed with it, and the hash
 * of every file from the repositories' metadata. Runs unprivileged and changes nothing.
 */
export async function planTarget(
  session: DnfSession,
  target: PlanTarget,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const { name, arch, toVersion } = target;
  if (!isSafeArgument({ name, arch, evr: toVersion })) {
    return { ok: false, reason: 'the name or version cannot be given to dnf' };
  }
  const asked = { target: { name, arch: arch ?? null, evr: toVersion } };
  const answer = parseAnswer(await session.ask('plan', asked), TransactionAnswer);
  return answer.ok ? describePlan(answer.value, target, resolvedAt) : answer;
}

/** Turns the resolver's answer into a valid plan that reaches the requested version. */
export function describePlan(
  transaction: TransactionAnswer,
  { name, arch, toVersion }: PlanTarget,
  resolvedAt: Date,
): PlanOutcome {
  const bare = toActions(transaction);
  if (!bare.ok) return bare;
  const reaches = bare.value.some(
    (action) =>
      action.name === name &&
      action.to_version === toVersion &&
      (arch === undefined || action.arch === arch || [arch, action.arch].includes('noarch')),
  );
  if (!reaches) return { ok: false, reason: `dnf would not bring ${name} to ${toVersion}` };
  const actions = addArtifacts(bare.value, transaction.coming);
  if (!actions.ok) return actions;
  const plan = { resolved_at: resolvedAt.toISOString(), actions: actions.value };
  const fault = planFaults(plan)[0];
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  if (!Check(Plan, plan)) return { ok: false, reason: 'the plan exceeds the limits of the protocol' };
  return { ok: true, plan };
}
