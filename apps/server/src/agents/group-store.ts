import type { Database, Db, Tx } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';

export interface GroupRow {
  name: string;
  hosts: number;
  updatesPending: number;
}

/** Groups with hosts in them, by name; `after` is the last name of the previous page. */
export async function listGroups(
  db: Db,
  { scope, limit, after }: { scope: GroupScope; limit: number; after: string | null },
): Promise<GroupRow[]> {
  let query = grouped(db, scope)
    .select((e) => ['group_name', e.fn.countAll<number>().as('hosts')])
    .groupBy('group_name')
    .orderBy('group_name')
    .limit(limit);
  if (after !== null) query = query.where('group_name', '>', after);
  const rows = await query.execute();
  const names = rows.flatMap(({ group_name }) => (group_name === null ? [] : [group_name]));
  const pending = await pendingOf(db, names);
  return rows.flatMap(({ group_name: name, hosts }) =>
    name === null ? [] : [{ name, hosts: Number(hosts), updatesPending: pending.get(name) ?? 0 }],
  );
}

export async function countGroups(db: Db, scope: GroupScope): Promise<number> {
  const row = await grouped(db, scope)
    .select((e) => e.fn.count<number>('group_name').distinct().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

function grouped(db: Db, scope: GroupScope) {
  const query = db.selectFrom('agents').where('deleted_at', 'is', null).where('group_name', 'is not', null);
  return scope === null ? query : query.where(groupInScope(scope, 'group_name'));
}

/** Pending updates per group, as their hosts count them; the only access of this slice to updates. */
async function pendingOf(db: Db, names: readonly string[]): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .selectFrom('host_sums as s')
    .innerJoin('agents as a', 'a.id', 's.agent_id')
    .select((e) => ['a.group_name', e.fn.sum<number>('s.pending').as('pending')])
    .where('a.deleted_at', 'is', null)
    .where('a.group_name', 'in', names)
    .groupBy('a.group_name')
    .execute();
  return new Map(rows.map(({ group_name, pending }) => [group_name ?? '', Number(pending)]));
}

export interface GroupedHost {
  id: string;
  group: string | null;
}

/** Locks those of these hosts that are in scope, and returns them with their groups. */
export async function lockHosts(
  tx: Tx,
  { engine, ids, scope }: { engine: Database['engine']; ids: readonly string[]; scope: GroupScope },
): Promise<GroupedHost[]> {
  const query = tx
    .selectFrom('agents')
    .select(['id', 'group_name as group'])
    .where('id', 'in', ids)
    .where('deleted_at', 'is', null)
    .where(groupInScope(scope, 'group_name'))
    .orderBy('id');
  return (engine === 'postgres' ? query.forNoKeyUpdate() : query).execute();
}

export async function setGroup(
  tx: Tx,
  { ids, group }: { ids: readonly string[]; group: string | null },
): Promise<void> {
  await tx.updateTable('agents').set({ group_name: group }).where('id', 'in', ids).execute();
}

/** The ids of the hosts in these groups. */
export async function findAgentsInGroups(db: Db, groups: readonly string[]): Promise<string[]> {
  if (groups.length === 0) return [];
  const rows = await db
    .selectFrom('agents')
    .select('id')
    .where('deleted_at', 'is', null)
    .where('group_name', 'in', groups)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}
