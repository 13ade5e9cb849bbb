import { Plan, planFaults } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import type { PlanOutcome, PlanRequest } from '../ecosystem.ts';
import { addArtifacts, toActions } from './actions.ts';
import { parseAnswer, TransactionAnswer } from './answers.ts';
import { isSafeArgument } from './names-rules.ts';
import type { DnfSession } from './session.ts';

/**
 * Resolves updates as one transaction: everything installed, upgraded, downgraded or removed with them, and the hash
 * of every file from the repositories' metadata. Runs unprivileged and changes nothing.
 */
export async function planUpdates(
  session: DnfSession,
  request: PlanRequest,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const targets = request.updates.map(({ name, arch, toVersion: evr }) => ({
    name,
    arch: arch ?? null,
    evr,
  }));
  if (!targets.every(({ name, arch, evr }) => isSafeArgument({ name, arch: arch ?? undefined, evr }))) {
    return { ok: false, reason: 'dnf does not accept this name or version' };
  }
  const answer = parseAnswer(await session.ask('plan', { targets }), TransactionAnswer);
  return answer.ok ? describePlan(answer.value, request, resolvedAt) : answer;
}

/** Turns the resolver's answer into a valid plan that reaches every requested version. */
export function describePlan(
  transaction: TransactionAnswer,
  { updates }: PlanRequest,
  resolvedAt: Date,
): PlanOutcome {
  const bare = toActions(transaction);
  if (!bare.ok) return bare;
  const unreached = updates.find(
    ({ name, arch, toVersion }) =>
      !bare.value.some(
        (action) =>
          action.name === name &&
          action.to_version === toVersion &&
          (arch === undefined || action.arch === arch || [arch, action.arch].includes('noarch')),
      ),
  );
  if (unreached !== undefined) {
    return { ok: false, reason: `dnf does not update ${unreached.name} to ${unreached.toVersion}` };
  }
  const actions = addArtifacts(bare.value, transaction.coming);
  if (!actions.ok) return actions;
  const plan = { resolved_at: resolvedAt.toISOString(), actions: actions.value };
  const fault = planFaults(plan)[0];
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  if (!Check(Plan, plan)) return { ok: false, reason: 'the plan exceeds the limits of the protocol' };
  return { ok: true, plan };
}
