import type { PlanOutcome, PlanRequest, PlanTarget, PlanUpdates } from '../ecosystem.ts';
import type { KeptFiles } from '../kept-files.ts';
import { soundPlan } from '../sound-plan.ts';
import { addArtifacts, addReplaced, toActions } from './actions.ts';
import { PlansAnswer, parseAnswer, refusalOf, type TransactionAnswer } from './answers.ts';
import { databaseMark } from './installed.ts';
import { isSafeArgument } from './names-rules.ts';
import type { Parsed } from './places.ts';
import type { DnfSession } from './session.ts';
import { planUndo } from './undo.ts';

/** Sets that one start of dnf resolves: reading the metadata takes longer than most sets. */
const SETS_PER_START = 20;

export interface Planner {
  session: DnfSession;
  kept: KeptFiles;
}

interface Made {
  readonly outcome: Parsed<TransactionAnswer>;
  readonly resolvedAt: Date;
}

/**
 * Plans of one session: each resolves its updates as one transaction, with everything installed, upgraded, downgraded or
 * removed with them, and the hash of every file from the repositories' metadata. Runs unprivileged and changes nothing. The
 * single updates of `upcoming` that follow are resolved in the same start of dnf, and are resolved again where packages have
 * changed since.
 */
export function createDnfPlanner({ session, kept }: Planner, upcoming: readonly PlanTarget[]): PlanUpdates {
  const made = new Map<string, Made>();
  const left = new Map(upcoming.filter(isSafe).map((target) => [keyOf([target]), [target]]));
  let mark: string | null = null;

  /** Resolves a set and those that follow it; where dnf fails on them together, the set alone. */
  async function make(key: string, updates: readonly PlanTarget[]): Promise<Made> {
    const resolvedAt = new Date();
    const ahead = [...left].filter(([other]) => other !== key && !made.has(other));
    const sets = new Map([[key, updates], ...(left.has(key) ? ahead.slice(0, SETS_PER_START - 1) : [])]);
    const answers = await resolveSets(session, [...sets.values()]);
    if (!answers.ok) {
      const alone = sets.size === 1 ? answers : await resolveSets(session, [updates]);
      return { outcome: alone.ok ? (alone.value[0] ?? NO_ANSWER) : alone, resolvedAt };
    }
    for (const [i, other] of [...sets.keys()].entries())
      made.set(other, { outcome: answers.value[i] ?? NO_ANSWER, resolvedAt });
    return made.get(key) ?? { outcome: NO_ANSWER, resolvedAt };
  }

  return async (request) => {
    const { updates, undo } = request;
    if (undo !== undefined) return planUndo({ session, kept }, { updates, undo }, new Date());
    if (!request.updates.every(isSafe)) {
      return { ok: false, reason: 'dnf does not accept this name or version' };
    }
    const now = await databaseMark(session.places);
    if (now === null || now !== mark) made.clear();
    mark = now;
    const key = keyOf(request.updates);
    const { outcome, resolvedAt } = made.get(key) ?? (await make(key, request.updates));
    // Asked again it is resolved again.
    made.delete(key);
    left.delete(key);
    return outcome.ok ? describePlan(outcome.value, request, { kept, resolvedAt }) : outcome;
  };
}

const NO_ANSWER = { ok: false, reason: 'the answer of dnf lacks a plan' } as const;

async function resolveSets(
  session: DnfSession,
  sets: readonly (readonly PlanTarget[])[],
): Promise<Parsed<Parsed<TransactionAnswer>[]>> {
  const asked = sets.map((set) =>
    set.map(({ name, arch, toVersion: evr }) => ({ name, arch: arch ?? null, evr })),
  );
  const answer = parseAnswer(await session.ask('plan', { sets: asked }), PlansAnswer);
  if (!answer.ok) return answer;
  const { plans } = answer.value;
  if (plans.length !== sets.length)
    return { ok: false, reason: 'dnf has not answered for each set of updates' };
  return { ok: true, value: plans.map((plan) => (plan.ok ? { ok: true, value: plan } : refusalOf(plan))) };
}

function isSafe({ name, arch, toVersion: evr }: PlanTarget): boolean {
  return isSafeArgument({ name, arch, evr });
}

function keyOf(updates: readonly PlanTarget[]): string {
  return JSON.stringify(updates.map(({ name, arch, toVersion }) => [name, arch ?? null, toVersion]));
}

/** Turns the resolver's answer into a valid plan that reaches every requested version. */
export function describePlan(
  transaction: TransactionAnswer,
  { updates }: PlanRequest,
  { kept, resolvedAt }: { kept: KeptFiles; resolvedAt: Date },
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
  return soundPlan(addReplaced(actions.value, transaction.going, kept), resolvedAt);
}
