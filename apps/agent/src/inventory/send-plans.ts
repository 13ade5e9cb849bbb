import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { missedTargets, type Plan } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { EcosystemDriver, HostPaths, PlanTarget, PlanUpdates } from '../ecosystems/ecosystem.ts';
import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';
import type { Plans, UpdateGroup } from './plans.ts';
import { sha256 } from './split-report.ts';

/** Most updates of one package manager session, which reads the host once. */
const SESSION_PLANS_MAX = 500;
/** Plans after which those of the same transaction are sent together and stored: a killed agent repeats few. */
const SEND_EVERY_PLANS = 40;

export interface PlanParts extends AgentSession {
  drivers: readonly EcosystemDriver[];
  plans: Plans;
  paths: HostPaths;
  log: Log;
}

export interface Planning {
  /** Called before each plan with the number of plans so far; false stops planning for more urgent work. */
  isWanted: (made: number) => boolean;
  /** Called between two plans: lets more urgent work go first. */
  rest: () => Promise<void>;
  /** Waits between two reports, for the server's budget of them. */
  pause: () => Promise<void>;
}

/**
 * Plans updates one by one, then jointly, until none is left or something else is to be done. Updates that resolve to
 * one transaction share one report.
 */
export async function sendPlans(
  parts: PlanParts,
  { isWanted, rest, pause }: Planning,
): Promise<Failure | null> {
  const { drivers, plans, paths } = parts;
  let made = 0;
  let sent = 0;
  const pace = async () => {
    if (sent > 0) await pause();
    sent += 1;
  };

  async function sendBatch({ ecosystem }: EcosystemDriver, batch: readonly UpdateGroup[], plan: PlanUpdates) {
    for (let start = 0; start < batch.length; start += SEND_EVERY_PLANS) {
      const planned: Planned[] = [];
      for (const group of batch.slice(start, start + SEND_EVERY_PLANS)) {
        if (made > 0) await rest();
        if (!isWanted(made)) break;
        made += 1;
        const known = await planGroup(parts, group, plan);
        if (known === null) plans.close(ecosystem, group, null);
        else planned.push(known);
      }
      const failure = await sendPlanned(parts, { ecosystem, planned, pace });
      if (failure !== null) return failure;
      plans.save();
      if (!isWanted(made)) return null;
    }
    return null;
  }

  for (const driver of drivers) {
    while (isWanted(made)) {
      const batch = plans.open(driver.ecosystem).slice(0, SESSION_PLANS_MAX);
      if (batch.length === 0) break;
      const targets = batch.flatMap(targetsOf);
      const failure = await driver.withPlanning(paths, targets, (plan) => sendBatch(driver, batch, plan));
      plans.save();
      if (failure !== null) return failure;
    }
  }
  return null;
}

interface Planned {
  readonly group: UpdateGroup;
  readonly plan: Plan;
}

/**
 * Null, and a line in the log, where there is no plan that brings all updates of the group. A joint transaction does
 * without those that the package manager names as being in its way: they have their own plans.
 */
async function planGroup(parts: PlanParts, group: UpdateGroup, plan: PlanUpdates): Promise<Planned | null> {
  const outcome = await plan({ updates: targetsOf(group) });
  const named = { package: group.updates[0]?.name ?? '', updates: group.updates.length };
  if (!outcome.ok) {
    parts.log.warn(`${whatOf(group)} cannot be planned`, { ...named, reason: outcome.reason });
    const smaller = withoutSome(group, outcome.conflicting ?? []);
    return smaller === null ? null : planGroup(parts, smaller, plan);
  }
  if (group.joint !== null && removes(outcome.plan)) {
    // Nobody has asked for it; the update that needs it has its own plan, which shows it.
    parts.log.info(`${whatOf(group)} would remove packages, and has no plan`, named);
    return null;
  }
  // One plan stands for all architectures only where it brings all of them; else each is planned when asked for.
  const wanted = group.updates.map(({ available_version, ...one }) => ({
    ...one,
    to_version: available_version,
  }));
  return missedTargets(outcome.plan, wanted).length === 0 ? { group, plan: outcome.plan } : null;
}

/** The joint group without these updates; null where that leaves none, or the same ones. */
function withoutSome(group: UpdateGroup, targets: readonly PlanTarget[]): UpdateGroup | null {
  const gone = new Set(targets.map(({ name, arch, toVersion }) => `${name} ${toVersion} ${arch ?? ''}`));
  const { updates, ids } = group;
  if (group.joint === null || ids.length !== updates.length) return null;
  const kept = updates.flatMap((update, i) =>
    gone.has(`${update.name} ${update.available_version} ${update.arch ?? ''}`) ? [] : [i],
  );
  if (kept.length === updates.length || kept.length < 2) return null;
  return {
    ...group,
    updates: kept.flatMap((i) => updates[i] ?? []),
    ids: kept.flatMap((i) => ids[i] ?? []),
  };
}

function whatOf({ joint }: UpdateGroup): string {
  if (joint === null) return 'an update';
  return joint === 'all' ? 'the transaction of all updates' : 'the transaction of the security updates';
}

function removes({ actions }: Plan): boolean {
  return actions.some(({ action }) => action === 'remove');
}

/** Sends each transaction once, with all groups that it is the plan of. */
async function sendPlanned(
  parts: PlanParts,
  {
    ecosystem,
    planned,
    pace,
  }: { ecosystem: Ecosystem; planned: readonly Planned[]; pace: () => Promise<void> },
): Promise<Failure | null> {
  const transactions = Map.groupBy(planned, ({ plan: { actions } }) => sha256(canonicalJson(actions)));
  for (const [first, ...others] of transactions.values()) {
    if (first === undefined) continue;
    const { plan } = first;
    await pace();
    const together = await sendPlan(parts, [first, ...others], plan);
    if (together.failure !== null) return together.failure;
    for (const one of [first, ...others]) {
      // An update that has ended on the server makes it refuse the whole report: the others are sent by themselves.
      const alone =
        together.hasArrived || others.length === 0 ? together : await sendPlan(parts, [one], plan);
      if (alone.failure !== null) return alone.failure;
      const closure = [...new Set(plan.actions.map(({ name }) => name))];
      parts.plans.close(
        ecosystem,
        one.group,
        alone.hasArrived ? { closure, joinable: !removes(plan) } : null,
      );
    }
  }
  return null;
}

async function sendPlan(
  parts: PlanParts,
  planned: readonly Planned[],
  plan: Plan,
): Promise<{ failure: Failure | null; hasArrived: boolean }> {
  const sets = planned.flatMap(({ group: { ids, joint } }) =>
    joint === null ? ids.map((id) => [id]) : [ids],
  );
  const sent = await callAgent(parts, { method: 'PUT', path: '/plans', body: { sets, plan } });
  if (sent.ok) return { failure: null, hasArrived: true };
  if (sent.failure.kind !== 'rejected') return { failure: sent.failure, hasArrived: false };
  const { code } = sent.failure;
  parts.log.warn('the server refused a plan', { updates: sets.flat().slice(0, 3).join(' '), code });
  return { failure: null, hasArrived: false };
}

/** Without a joint set one of the updates stands for all of a group. */
function targetsOf({ updates, joint }: UpdateGroup): PlanTarget[] {
  return (joint === null ? updates.slice(0, 1) : updates).map(
    ({ name, arch, available_version: toVersion }) => ({
      ...{ name, toVersion },
      ...(arch === undefined ? {} : { arch }),
    }),
  );
}
