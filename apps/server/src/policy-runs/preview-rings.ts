import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { Ring, RingsPreview } from '@tidegate/protocol/rings';
import { withTags } from '../agents/host-scope.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { type RingSystem, ringScopes, ringsOf, unrepresentedIn } from '../rollouts/ring-rules.ts';
import { hostsBySystem } from './candidates-store.ts';

const PAGE_HOSTS = 1_000;

/** The active hosts of each ring, and the systems of which the first ring has none. */
export async function previewRings(
  db: Db,
  { policyId, scope, rings }: { policyId: string; scope: PolicyScope; rings: readonly Ring[] },
): Promise<RingsPreview> {
  const ringOf = ringsOf(policyId, rings);
  const systems = new Map<string, RingSystem>();
  let after = '';
  for (;;) {
    const page = await hostsBySystem(db, { scope, after, limit: PAGE_HOSTS });
    const last = page.at(-1);
    if (!last) break;
    after = last.id;
    for (const host of await withTags(db, page, ringScopes(rings))) {
      const { osId, osVersion, arch } = host;
      const system = { ring: ringOf(host), osId, osVersion, arch };
      const key = JSON.stringify(system);
      systems.set(key, { ...system, hosts: (systems.get(key)?.hosts ?? 0) + 1 });
    }
    await takeTurn();
  }
  const all = [...systems.values()];
  const sumOf = (ring: number) => all.reduce((sum, one) => sum + (one.ring === ring ? one.hosts : 0), 0);
  return {
    rings: rings.map(({ name }, i) => ({ name, hosts: sumOf(i) })),
    unrepresented: unrepresentedIn(all),
  };
}
