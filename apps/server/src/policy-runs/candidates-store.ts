import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { sql } from 'kysely';
import { activeHostsIn } from '../agents/host-scope.ts';
import type { Db } from '../platform/db/engine.ts';
import { fromHosts, partsOfHosts } from '../platform/db/from-hosts.ts';
import type { UpdateRow } from '../updates/store.ts';

/** Rows read per statement, because SQLite cannot be interrupted. */
const READ_ROWS = 2_000;

/** A host that policies may reach. */
export interface ReachedHost {
  readonly id: string;
  readonly hostname: string;
  readonly group: string | null;
}

/** What policies are compared with, before any verdict. */
export type WaitingUpdate = Pick<
  UpdateRow,
  | 'id'
  | 'agent_id'
  | 'ecosystem'
  | 'name'
  | 'arch'
  | 'available_version'
  | 'origin'
  | 'change'
  | 'recommended'
  | 'taken_back'
  | 'plan_id'
  | 'judged_at'
  | 'updated_at'
>;

/** Active hosts with updates that wait, by id. */
export async function hostsThatWait(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<ReachedHost[]> {
  const rows = await db
    .selectFrom('agents as a')
    .select(['a.id', 'a.hostname', 'a.group_name'])
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where('a.id', '>', after)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('updates as u')
          .select('u.id')
          .whereRef('u.agent_id', '=', 'a.id')
          .where('u.state', '=', 'pending')
          .where('u.gone', '=', 0),
      ),
    )
    .orderBy('a.id')
    .limit(limit)
    .execute();
  return rows.map(({ id, hostname, group_name: group }) => ({ id, hostname, group }));
}

/** Active hosts of a scope, by name; and how many there are. */
export async function hostsOf(
  db: Db,
  { scope, limit }: { scope: PolicyScope; limit: number },
): Promise<{ count: number; hosts: ReachedHost[] }> {
  const query = activeHostsIn(db, scope);
  const total = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  const rows = await query
    .select(['a.id', 'a.hostname', 'a.group_name'])
    .orderBy('a.hostname')
    .orderBy('a.id')
    .limit(limit)
    .execute();
  const hosts = rows.map(({ id, hostname, group_name: group }) => ({ id, hostname, group }));
  return { count: Number(total.total), hosts };
}

/** A host with its system. */
export interface SystemHost extends Omit<ReachedHost, 'hostname'> {
  readonly osId: string;
  readonly osVersion: string;
  readonly arch: string;
}

/** Active hosts of a scope with their systems, by id. */
export async function hostsBySystem(
  db: Db,
  { scope, after, limit }: { scope: PolicyScope; after: string; limit: number },
): Promise<SystemHost[]> {
  const rows = await activeHostsIn(db, scope)
    .select(['a.id', 'a.group_name', 'a.os_id', 'a.os_version_id', 'a.os_arch'])
    .where('a.id', '>', after)
    .orderBy('a.id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ...{ id: row.id, group: row.group_name },
    ...{ osId: row.os_id, osVersion: row.os_version_id, arch: row.os_arch },
  }));
}

/** The updates of these hosts that wait for a decision, host by host, in parts. */
export function waitingUpdates(
  db: Db,
  agentIds: readonly string[],
): AsyncGenerator<readonly WaitingUpdate[]> {
  return partsOfHosts<WaitingUpdate>(agentIds, {
    size: READ_ROWS,
    read: (hosts, after) =>
      fromHosts(db, hosts)
        .crossJoin('updates as u')
        .select(['u.id', 'u.agent_id', 'u.ecosystem', 'u.name', 'u.arch', 'u.available_version', 'u.origin'])
        .select(['u.change', 'u.recommended', 'u.taken_back', 'u.plan_id', 'u.judged_at', 'u.updated_at'])
        .whereRef('u.agent_id', '=', 'h.id')
        .where('u.state', '=', sql.lit('pending'))
        .where('u.gone', '=', sql.lit(0))
        .where('u.id', '>', after?.id ?? '')
        .orderBy('h.id')
        .orderBy('u.id')
        .limit(READ_ROWS)
        .execute(),
  });
}
