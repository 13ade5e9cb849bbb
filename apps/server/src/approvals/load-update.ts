import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { closureSubjects } from '../advisories/closure-packages.ts';
import { type Closure, readClosures } from '../advisories/read-closure.ts';
import type { Subject } from '../advisories/subjects.ts';
import { type AgentRow, findAgents } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import type { AgeSubject } from '../release-times/subjects.ts';
import { findUpdates, readPlans } from '../updates/many-store.ts';
import type { StoredPlan, UpdateRow } from '../updates/store.ts';
import { ageSubjects } from './age-rules.ts';
import type { ApprovalDeps } from './deps.ts';

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

/** The existing ones, by id; statements are shared by all, and for installed packages by host. */
export async function loadUpdates(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  ids: readonly string[],
): Promise<Map<string, LoadedUpdate>> {
  const db = platform.database.read;
  const updates = [...(await findUpdates(db, ids)).values()];
  const agents = await findAgents(
    db,
    updates.map(({ agent_id }) => agent_id),
  );
  const plans = await readPlans(
    db,
    updates.flatMap(({ plan_id }) => plan_id ?? []),
  );
  const found = updates.flatMap((update): Found[] => {
    const agent = agents.get(update.agent_id);
    if (!agent) return [];
    const { ecosystem } = update;
    if (!Value.Check(Ecosystem, ecosystem))
      throw new Error(`the update ${update.id} has an unknown ecosystem`);
    const plan = (update.plan_id && plans.get(update.plan_id)) || null;
    return [{ update, updates: [update], ecosystem, agent, plan }];
  });
  const hosts = Map.groupBy(found, ({ agent, ecosystem }) => `${agent.id} ${ecosystem}`);
  const loaded = await Promise.all([...hosts.values()].map((some) => withClosures(db, some)));
  return new Map(loaded.flat().map((one) => [one.update.id, one]));
}

interface Found extends Omit<LoadedUpdate, 'planned'> {
  readonly plan: StoredPlan | null;
}

/** Updates of one host and ecosystem. */
async function withClosures(db: Db, found: readonly Found[]): Promise<LoadedUpdate[]> {
  const closures = await readClosures(
    db,
    found.flatMap(({ update, ecosystem, agent, plan }) => {
      if (!plan) return [];
      const system = { id: agent.os_id, versionId: agent.os_version_id };
      const top = { name: update.name, arch: update.arch };
      return [{ agentId: agent.id, ecosystem, system, actions: plan.actions, top }];
    }),
  );
  let next = 0;
  return found.map(({ plan, ...one }) => {
    const closure = plan ? closures[next++] : undefined;
    if (!plan || !closure) return { ...one, planned: null };
    const { ecosystem } = one;
    const aged = ageSubjects({ ecosystem, actions: plan.actions, installed: closure.installed });
    return { ...one, planned: { plan, closure, aged } };
  });
}

/** The subjects to query before an update is judged. */
export function subjectsOfUpdate({ planned }: LoadedSet): { advisories: Subject[]; aged: AgeSubject[] } {
  if (!planned) return { advisories: [], aged: [] };
  const { after, before } = closureSubjects(planned.closure.packages);
  return { advisories: [...after, ...before], aged: planned.aged };
}
