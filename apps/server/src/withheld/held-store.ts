import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { sql } from 'kysely';
import { activeHostsIn } from '../agents/host-scope.ts';
import type { NamedPackage } from '../holds/hold-rules.ts';
import { type HoldInForce, namesPackage } from '../holds/hold-rules.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { pendingPackages } from '../updates/held-store.ts';
import { IS_PENDING } from './store.ts';

/** Hosts per statement. */
const STEP_HOSTS = 5_000;

/** What is kept back on one host of packages that the same holds name; hosts may come more than once. */
export interface HeldOnHost {
  readonly agentId: string;
  readonly updates: number;
  readonly securityUpdates: number;
  readonly holds: readonly HoldInForce[];
}

/**
 * What holds keep back on the hosts of these groups, in parts. Packages that the same holds name are counted together,
 * and each update once; `holds` are those of them that keep something back on some host.
 */
export async function* heldOnHosts(
  db: Db,
  { holds, scope }: { holds: readonly HoldInForce[]; scope: GroupScope },
): AsyncGenerator<HeldOnHost[]> {
  if (holds.length === 0) return;
  for (const { naming, ecosystem, names } of setsOf(holds, await pendingPackages(db))) {
    for (const some of chunks(names)) {
      const keeping: HoldInForce[] = [];
      for (const hold of naming) {
        const one = await heldQuery(db, { of: hold.scope, scope, ecosystem, names: some })
          .select('u.id')
          .limit(1)
          .executeTakeFirst();
        if (one) keeping.push(hold);
      }
      if (keeping.length === 0) continue;
      const query = heldQuery(db, { of: union(keeping), scope, ecosystem, names: some });
      for (let after = ''; ; ) {
        const rows = await query
          .where('a.id', '>', after)
          .select((e) => ['a.id as agentId', e.fn.countAll<number>().as('updates')])
          .select(sql<number>`sum(u.security)`.as('security'))
          .groupBy('a.id')
          .orderBy('a.id')
          .limit(STEP_HOSTS)
          .execute();
        yield rows.map(({ agentId, updates, security }) => ({
          ...{ agentId, updates: Number(updates), securityUpdates: Number(security), holds: keeping },
        }));
        const last = rows.at(-1);
        if (!last || rows.length < STEP_HOSTS) break;
        after = last.agentId;
      }
    }
  }
}

export interface NamedAlike {
  readonly naming: readonly HoldInForce[];
  readonly ecosystem: Ecosystem;
  readonly names: string[];
}

/** Packages by the holds that name them; those that none names are left out. */
export function setsOf(
  holds: readonly HoldInForce[],
  packages: readonly NamedPackage[],
): Iterable<NamedAlike> {
  const sets = new Map<string, NamedAlike>();
  for (const one of packages) {
    const naming = holds.filter((hold) => namesPackage(hold, one));
    if (naming.length === 0) continue;
    const key = `${one.ecosystem} ${naming.map(({ id }) => id).join()}`;
    const set = sets.get(key) ?? { naming, ecosystem: one.ecosystem, names: [] };
    set.names.push(one.name);
    sets.set(key, set);
  }
  return sets.values();
}

/** The hosts of several holds as one scope. */
export function union(holds: readonly HoldInForce[]): PolicyScope {
  const joined = { groups: new Set<string>(), hosts: new Set<string>(), tags: new Set<string>() };
  for (const { scope } of holds) {
    if (scope.kind === 'all') return scope;
    for (const group of scope.groups) joined.groups.add(group);
    for (const host of scope.hosts) joined.hosts.add(host);
    for (const tag of scope.tags ?? []) joined.tags.add(tag);
  }
  return {
    ...{ kind: 'some', groups: [...joined.groups], hosts: [...joined.hosts], tags: [...joined.tags] },
  };
}

/** The updates of packages with these names that a scope holds back on the hosts of these groups. */
export function heldQuery(
  db: Db,
  asked: { of: PolicyScope; scope: GroupScope; ecosystem: Ecosystem; names: readonly string[] },
) {
  return activeHostsIn(db, asked.of)
    .innerJoin('updates as u', 'u.agent_id', 'a.id')
    .where(groupInScope(asked.scope, 'a.group_name'))
    .where('u.ecosystem', '=', asked.ecosystem)
    .where('u.name', 'in', asked.names)
    .where(IS_PENDING);
}
