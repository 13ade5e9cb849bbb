import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from './engine.ts';

/**
 * The groups whose hosts a caller may see and act on; null: every host, those in no group too. Every query behind an
 * operator's list takes one beside its filter. An empty list is no host at all.
 */
export type GroupScope = readonly string[] | null;

/** The same rule for a host that is loaded already. */
export function isInScope(scope: GroupScope, group: string | null): boolean {
  return scope === null || (group !== null && scope.includes(group));
}

/** Whether the group in this column is in the scope; a host in no group is in no scope but null. */
export function groupInScope(scope: GroupScope, groupColumn: string): RawBuilder<SqlBool> {
  if (scope === null) return sql`1 = 1`;
  if (scope.length === 0) return sql`1 = 0`;
  return sql`${sql.ref(groupColumn)} IN (${sql.join(scope)})`;
}

/**
 * Whether the agent in this column is in the scope, deleted ones with the group that they had; a row without an agent
 * is in no scope but null.
 */
export function agentInScope(scope: GroupScope, agentColumn: string): RawBuilder<SqlBool> {
  if (scope === null) return sql`1 = 1`;
  const inGroup = groupInScope(scope, 'agents.group_name');
  return sql`${sql.ref(agentColumn)} IN (SELECT agents.id FROM agents WHERE ${inGroup})`;
}

/** What belongs to one host each, by what a path calls it. */
export type Hosted = 'agent' | 'update' | 'command' | 'event' | 'decision';

/**
 * Whether a row is of a host in these groups; false where there is none. The one look at the tables of slices from
 * here, so that no slice judges it in its own way.
 */
export async function reaches(
  db: Db,
  { of, id, groups }: { of: Hosted; id: string; groups: readonly string[] },
): Promise<boolean> {
  const inGroups = db.selectFrom('agents as a').select('a.id').where(groupInScope(groups, 'a.group_name'));
  const row = await inGroups.where('a.id', '=', agentOf(db, of, id)).executeTakeFirst();
  return row !== undefined;
}

/** The agent of the row, as a value or a query for it. */
function agentOf(db: Db, of: Hosted, id: string) {
  switch (of) {
    case 'agent':
      return sql<string>`${id}`;
    case 'update':
      return db.selectFrom('updates').select('agent_id').where('id', '=', id);
    case 'command':
      return db.selectFrom('agent_commands').select('agent_id').where('id', '=', id);
    case 'event':
      return db.selectFrom('events').select('agent_id').where('id', '=', id);
    case 'decision': {
      const updateId = db.selectFrom('decisions').select('update_id').where('id', '=', id);
      return db.selectFrom('updates').select('agent_id').where('id', '=', updateId);
    }
  }
}
