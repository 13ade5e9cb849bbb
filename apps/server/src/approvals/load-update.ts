import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { closureSubjects } from '../advisories/closure-packages.ts';
import { type Closure, readClosures } from '../advisories/read-closure.ts';
import type { Subject } from '../advisories/subjects.ts';
import { type AgentRow, findAgents } from '../agents/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import type { AgeSubject } from '../release-times/subjects.ts';
import { findUpdates, plansOfSets, readPlans } from '../updates/many-store.ts';
import type { StoredPlan, UpdateRow } from '../updates/store.ts';
import { ageSubjects } from './age-rules.ts';
import type { ApprovalDeps } from './deps.ts';
import type { Member } from './flagged-set-rules.ts';

/** Plans that are in memory at a time, where only their packages matter. */
const PLANS_TOGETHER = 20;

/** Updates of one host and ecosystem that are decided as one, with everything that the decision rests on. */
export interface LoadedSet {
  /** In ascending order of id; at least one. */
  readonly updates: readonly UpdateRow[];
  readonly ecosystem: Ecosystem;
  readonly agent: AgentRow;
  /** Null while no plan is known. */
  readonly planned: {
    readonly plan: StoredPlan;
    readonly closure: Closure;
    readonly aged: AgeSubject[];
  } | null;
}

/** A set of one. */
export interface LoadedUpdate extends LoadedSet {
  readonly update: UpdateRow;
}

/** A set of one. @throws when it has more updates: a bug, as only single ones are overridden or shown (A6). */
export function onlyUpdateOf(set: LoadedSet): LoadedUpdate {
  const [update, ...others] = set.updates;
  if (!update || others.length > 0) throw new Error('the set is not of one update');
  return { ...set, update };
}

export function updateIdsOf({ updates }: Pick<LoadedSet, 'updates'>): string[] {
  return updates.map(({ id }) => id);
}

/** Null when there is no such update, or its agent is deleted. */
export async function loadUpdate(deps: ApprovalDeps, id: string): Promise<LoadedUpdate | null> {
  return (await loadUpdates(deps, [id])).get(id) ?? null;
}

/** The existing ones, each as a set of its own, by id. */
export async function loadUpdates(
  deps: Pick<ApprovalDeps, 'platform'>,
  ids: readonly string[],
): Promise<Map<string, LoadedUpdate>> {
  const sets = await loadSets(
    deps,
    ids.map((id) => [id]),
  );
  return new Map(sets.map(onlyUpdateOf).map((one) => [one.update.id, one]));
}

/**
 * Sets of updates of one host, ecosystem and place each, in the given order and without updates that do not exist. A
 * set without any, and one of a deleted agent, is left out. Statements are shared by all, and for installed packages
 * by host.
 */
export async function loadSets(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  sets: readonly (readonly string[])[],
): Promise<LoadedSet[]> {
  const db = platform.database.read;
  const rows = await findUpdates(db, sets.flat());
  const existing = sets
    .map((ids) => ids.flatMap((id) => rows.get(id) ?? []).toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    .filter((updates) => updates.length > 0);
  const agents = await findAgents(
    db,
    existing.flatMap(([first]) => first?.agent_id ?? []),
  );
  const planIds = await plansOfSets(db, existing);
  const plans = await readPlans(db, [...new Set(planIds.flatMap((id) => id ?? []))]);
  const found = existing.flatMap((updates, i): Found[] => {
    const [{ agent_id: agentId = '', ecosystem = '' } = {}] = updates;
    const agent = agents.get(agentId);
    if (!agent) return [];
    if (!Value.Check(Ecosystem, ecosystem))
      throw new Error(`an update has an unknown ecosystem: ${ecosystem}`);
    return [{ updates, ecosystem, agent, plan: plans.get(planIds[i] ?? '') ?? null }];
  });
  const hosts = Map.groupBy(found, ({ agent, ecosystem }) => `${agent.id} ${ecosystem}`);
  const planned = await Promise.all([...hosts.values()].map((some) => closuresOf(db, some)));
  const closures = new Map(planned.flat());
  return found.map((one) => ({ ...one, planned: closures.get(one) ?? null }));
}

interface Found extends Omit<LoadedSet, 'planned'> {
  readonly plan: StoredPlan | null;
}

/** Those of sets of one host and ecosystem that have a plan. */
async function closuresOf(
  db: Db,
  found: readonly Found[],
): Promise<[Found, NonNullable<LoadedSet['planned']>][]> {
  const requested = found.flatMap((one) => {
    const { updates, ecosystem, agent, plan } = one;
    if (!plan) return [];
    const system = { id: agent.os_id, versionId: agent.os_version_id };
    const tops = updates.map(({ name, arch }) => ({ name, arch }));
    return [{ one, plan, request: { agentId: agent.id, ecosystem, system, actions: plan.actions, tops } }];
  });
  const closures = await readClosures(
    db,
    requested.map(({ request }) => request),
  );
  return requested.flatMap(({ one, plan }, i) => {
    const closure = closures[i];
    if (!closure) return [];
    const { ecosystem } = one;
    const aged = ageSubjects({ ecosystem, actions: plan.actions, installed: closure.installed });
    return [[one, { plan, closure, aged }]];
  });
}

/** The subjects to query before an update is judged. */
export function subjectsOfUpdate({ planned }: LoadedSet): { advisories: Subject[]; aged: AgeSubject[] } {
  if (!planned) return { advisories: [], aged: [] };
  const { after, before } = closureSubjects(planned.closure.packages);
  return { advisories: [...after, ...before], aged: planned.aged };
}

/** The updates of a set, each with the packages of its own plan where that is known. */
export async function membersOf(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { updates }: Pick<LoadedSet, 'updates'>,
): Promise<Member[]> {
  const members: Member[] = [];
  for (const some of chunks(updates, PLANS_TOGETHER)) {
    const planIds = new Set(some.flatMap(({ plan_id: id }) => id ?? []));
    const plans = await readPlans(platform.database.read, [...planIds]);
    for (const { id, plan_id: planId } of some) {
      const plan = plans.get(planId ?? '');
      members.push({ id, packages: plan ? new Set(plan.actions.map(({ name }) => name)) : null });
    }
  }
  return members;
}
