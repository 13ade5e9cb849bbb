import { OWN_HOLDS_SHOWN } from '@tidegate/protocol/holds-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { type SqlBool, sql } from 'kysely';
import { Value } from 'typebox/value';
import type { NamedPackage } from '../holds/hold-rules.ts';
import type { Db } from '../platform/db/engine.ts';
import { fromHosts } from '../platform/db/from-hosts.ts';
import { RECOMMENDED_HERE } from '../updates/offer-rules.ts';
import { isUnderWay } from '../updates/schema.ts';

/** The updates that lists show as waiting: of several versions of one package the recommended one. */
export const IS_PENDING = sql<SqlBool>`u.state = 'pending' AND u.gone = 0
  AND (u.recommended & ${sql.lit(RECOMMENDED_HERE)}) <> 0`;

/** The same of hosts that are looked at one after another (`fromHosts`): no index of the whole fleet's states is searched. */
export const IS_PENDING_THERE = sql<SqlBool>`u.state || '' = 'pending' AND u.gone = 0
  AND (u.recommended & ${sql.lit(RECOMMENDED_HERE)}) <> 0`;

export const IS_UNDER_WAY = sql.raw<SqlBool>(isUnderWay('u.state'));

export async function countUnderWay(db: Db, agentId: string): Promise<number> {
  const row = await db
    .selectFrom('updates as u')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('u.agent_id', '=', agentId)
    .where(IS_UNDER_WAY)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** The updates of a host that wait for an approval. */
export async function pendingOf(
  db: Db,
  agentId: string,
): Promise<(NamedPackage & { readonly isSecurity: boolean })[]> {
  const rows = await fromHosts(db, [agentId])
    .crossJoin('updates as u')
    .select(['u.ecosystem', 'u.name', 'u.security'])
    .whereRef('u.agent_id', '=', 'h.id')
    .where(IS_PENDING_THERE)
    .execute();
  return rows.map(({ ecosystem, name, security }) => ({
    ...{ ecosystem: Value.Parse(Ecosystem, ecosystem), name, isSecurity: security === 1 },
  }));
}

/** How many packages a host reported; null until it has reported one: no host has none. */
export async function countInstalled(db: Db, agentId: string): Promise<number | null> {
  const row = await db
    .selectFrom('inventory_reports')
    .select((e) => e.fn.sum<number | null>('package_count').as('total'))
    .where('agent_id', '=', agentId)
    .executeTakeFirstOrThrow();
  return Number(row.total) || null;
}

/** The packages that the package managers of a host keep as they are, the first of them by name. */
export async function ownHoldsOf(db: Db, agentId: string) {
  const own = db.selectFrom('host_packages').where('agent_id', '=', agentId).where('held', '=', 1);
  const counted = await own.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  const rows = await own
    .select(['ecosystem', 'name', 'version'])
    .orderBy('name')
    .orderBy('ecosystem')
    .orderBy('version')
    .limit(OWN_HOLDS_SHOWN)
    .execute();
  return {
    total: Number(counted.total),
    packages: rows.map((row) => ({ ...row, ecosystem: Value.Parse(Ecosystem, row.ecosystem) })),
  };
}
