import type { HeldBack } from '@tidegate/protocol/holds-api';
import type { HoldInForce, NamedPackage } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { endsOf, heldBackView } from './held-rules.ts';
import { heldQuery, setsOf, union } from './held-store.ts';

/**
 * What holds keep back of the waiting updates of each of these packages, on the hosts of these groups. The answer has their
 * places in the list; packages of which nothing is kept back are left out.
 */
export async function heldOfPackages(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  { packages, scope }: { packages: readonly NamedPackage[]; scope: GroupScope },
): Promise<Map<number, HeldBack>> {
  const db = database.read;
  const found = new Map<number, HeldBack>();
  const holds = packages.length === 0 ? [] : await holdsInForce(db, now());
  for (const { naming, ecosystem, names } of setsOf(holds, packages)) {
    const keeping = new Map<string, HoldInForce[]>();
    for (const hold of naming) {
      const rows = await heldQuery(db, { of: hold.scope, scope, ecosystem, names })
        .select('u.name')
        .distinct()
        .execute();
      for (const { name } of rows) keeping.set(name, [...(keeping.get(name) ?? []), hold]);
    }
    if (keeping.size === 0) continue;
    const sums = await heldQuery(db, { of: union(naming), scope, ecosystem, names })
      .select((e) => [
        'u.name',
        e.fn.countAll<number>().as('updates'),
        e.fn.sum<number>('u.security').as('security'),
      ])
      .groupBy('u.name')
      .execute();
    for (const { name, updates, security } of sums) {
      const at = packages.findIndex((one) => one.ecosystem === ecosystem && one.name === name);
      const sum = { updates: Number(updates), securityUpdates: Number(security) };
      found.set(at, heldBackView({ ...sum, ends: endsOf(keeping.get(name) ?? []) }));
    }
  }
  return found;
}
