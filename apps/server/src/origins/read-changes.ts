import { isKnownOrigin } from '../advisories/package-origin.ts';
import type { Db } from '../platform/db/engine.ts';
import { offeredOrigins } from '../updates/many-store.ts';
import { type ChangingPlan, type OriginChange, originChanges } from './change-rules.ts';

/** A plan with the id of its host. */
export interface HostPlan extends ChangingPlan {
  readonly agentId: string;
}

/**
 * The changes of vendor in each plan, in the given order. Where the package manager no longer knows where a version came
 * from (the archive dropped it, or it was installed from a file), what the host said when it was offered counts: one read
 * for each host and ecosystem, none where all is known.
 */
export async function readOriginChanges(db: Db, plans: readonly HostPlan[]): Promise<OriginChange[][]> {
  const hosts = Map.groupBy(plans, ({ agentId, ecosystem }) => `${agentId} ${ecosystem}`);
  const offered = new Map<string, ReadonlyMap<string, string>>();
  for (const [key, some] of hosts) {
    const [first] = some;
    if (!first || (first.ecosystem !== 'apt' && first.ecosystem !== 'dnf')) continue;
    const unknown = some.flatMap(({ installed }) => installed.filter(({ origin }) => !isKnownOrigin(origin)));
    const names = [...new Set(unknown.map(({ name }) => name))];
    const { agentId, ecosystem } = first;
    if (names.length > 0) offered.set(key, await offeredOrigins(db, { agentId, ecosystem, names }));
  }
  return plans.map((plan) => {
    const known = offered.get(`${plan.agentId} ${plan.ecosystem}`);
    const installed = plan.installed.map((one) => {
      if (isKnownOrigin(one.origin)) return one;
      return { ...one, origin: known?.get(`${one.name}\n${one.arch}\n${one.version}`) ?? null };
    });
    return originChanges({ ...plan, installed });
  });
}
