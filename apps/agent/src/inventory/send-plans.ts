import type { Plan } from '@tidegate/protocol/plan';
import type { EcosystemDriver, HostPaths, PlanTarget, PlanUpdates } from '../ecosystems/ecosystem.ts';
import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';
import type { Plans, UpdateGroup } from './plans.ts';

/** Most updates of one package manager session, which reads the host once. */
const SESSION_PLANS_MAX = 500;
/** Plans after which the finished ones are stored, so that a killed agent repeats few. */
const SAVE_EVERY_PLANS = 20;

export interface PlanParts extends AgentSession {
  drivers: readonly EcosystemDriver[];
  plans: Plans;
  paths: HostPaths;
  log: Log;
}

export interface Planning {
  /** Called before each plan with the number of plans so far; false stops planning for more urgent work. */
  isWanted: (made: number) => boolean;
  /** Waits between two plans to limit the load on host and server. */
  pause: () => Promise<void>;
}

/** Plans updates one by one and sends each plan at once, until none is left or something else is to be done. */
export async function sendPlans(parts: PlanParts, { isWanted, pause }: Planning): Promise<Failure | null> {
  const { drivers, plans, paths } = parts;
  let made = 0;

  async function sendBatch({ ecosystem }: EcosystemDriver, batch: readonly UpdateGroup[], plan: PlanUpdates) {
    for (const [index, group] of batch.entries()) {
      if (index > 0) await pause();
      if (!isWanted(made)) return null;
      made += 1;
      const sent = await sendPlan(parts, group, plan);
      if (sent.failure !== null) return sent.failure;
      plans.close(ecosystem, group, sent.closure);
      if (made % SAVE_EVERY_PLANS === 0) plans.save();
    }
    return null;
  }

  for (const driver of drivers) {
    while (isWanted(made)) {
      const batch = plans.open(driver.ecosystem).slice(0, SESSION_PLANS_MAX);
      if (batch.length === 0) break;
      const failure = await driver.withPlanning(paths, batch.flatMap(targetOf), (plan) =>
        sendBatch(driver, batch, plan),
      );
      plans.save();
      if (failure !== null) return failure;
    }
  }
  return null;
}

/** No failure when the plan has arrived or there is none. */
interface Sent {
  failure: Failure | null;
  /** The packages of the plan; null where the server has none. */
  closure: string[] | null;
}

async function sendPlan(parts: PlanParts, group: UpdateGroup, plan: PlanUpdates): Promise<Sent> {
  const none = { failure: null, closure: null };
  const [target] = targetOf(group);
  if (target === undefined) return none;
  const { name } = target;
  const outcome = await plan({ updates: [target] });
  if (!outcome.ok) {
    parts.log.warn('an update cannot be planned', { package: name, reason: outcome.reason });
    return none;
  }
  // One plan stands for all architectures only where it brings all of them; else each is planned when asked for.
  if (!group.updates.every((member) => group.updates.length === 1 || brings(outcome.plan, member)))
    return none;
  let hasArrived = true;
  for (const id of group.ids) {
    const path = `/plans/${id}`;
    const sent = await callAgent(parts, { method: 'PUT', path, body: outcome.plan });
    if (sent.ok) continue;
    if (sent.failure.kind !== 'rejected') return { failure: sent.failure, closure: null };
    hasArrived = false;
    const { code } = sent.failure;
    parts.log.warn('the server refused a plan', { package: name, update_id: id, code });
  }
  const names = outcome.plan.actions.map((action) => action.name);
  return { failure: null, closure: hasArrived ? [...new Set(names)] : null };
}

/** One of the updates stands for all of a group. */
function targetOf({ updates }: UpdateGroup): PlanTarget[] {
  return updates.slice(0, 1).map(({ name, arch, available_version: toVersion }) => ({
    ...{ name, toVersion },
    ...(arch === undefined ? {} : { arch }),
  }));
}

function brings(
  { actions }: Plan,
  { name, arch, available_version: version }: UpdateGroup['updates'][number],
): boolean {
  return actions.some(
    (action) => action.name === name && action.to_version === version && action.arch === arch,
  );
}
