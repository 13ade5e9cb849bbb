import type { HoldDetail } from '@tidegate/protocol/holds-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { activeHostsIn } from '../agents/host-scope.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { type HoldInForce, namesPackage } from './hold-rules.ts';

/** What waits on the hosts of a hold and is of one of its packages. */
export async function countHeld(
  db: Db,
  hold: Pick<HoldInForce, 'ecosystems' | 'packages' | 'scope'>,
): Promise<NonNullable<HoldDetail['held']>> {
  const { ecosystems, scope } = hold;
  const query = activeHostsIn(db, scope)
    .innerJoin('updates as u', 'u.agent_id', 'a.id')
    .where('u.gone', '=', 0)
    .where('u.state', 'in', ['pending', 'awaiting_plan', 'approved'])
    .where('u.ecosystem', 'in', ecosystems);
  const rows = await query
    .select(['u.ecosystem', 'u.name', 'u.security'])
    .select((e) => e.fn.countAll<number>().as('total'))
    .groupBy(['u.ecosystem', 'u.name', 'u.security'])
    .execute();
  const held = rows.filter(({ ecosystem, name }) =>
    namesPackage(hold, { ecosystem: Value.Parse(Ecosystem, ecosystem), name }),
  );
  const hosts = new Set<string>();
  for (const names of chunks([...new Set(held.map(({ name }) => name))])) {
    const found = await query.select('u.agent_id').distinct().where('u.name', 'in', names).execute();
    for (const { agent_id: id } of found) hosts.add(id);
  }
  const sum = (list: typeof held) => list.reduce((total, row) => total + Number(row.total), 0);
  return {
    updates: sum(held),
    security_updates: sum(held.filter(({ security }) => security === 1)),
    hosts: hosts.size,
  };
}
