import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from './engine.ts';

/**
 * The groups whose hosts a caller may see and act on. Null means every host, also those without a group; an
 * empty list means no host. Every query behind an operator's list takes one beside its filter.
 */
export type GroupScope = readonly string[] | null;

/** The same rule for a loaded host. */
export function isInScope(scope: GroupScope, group: string | null): boolean {
  return scope === null || (group !== null && scope.includes(group));
}

/** Whether the group in this column is in the scope; a host without a group is only in the scope null. */
export function groupInScope(scope: GroupScope, groupColumn: string): RawBuilder<SqlBool> {
  if (scope === null) return sql`1 = 1`;
  if (scope.length === 0) return sql`1 = 0`;
  return sql`${sql.ref(groupColumn)} IN (${sql.join(scope)})`;
}

/**
 * Whether the agent in this column is in the scope. A deleted agent counts with its last group; a row without
 * an agent is only in the scope null.
 */
export function agentInScope(scope: GroupScope, agentColumn: string): RawBuilder<SqlBool> {
  if (scope === null) return sql`1 = 1`;
  const inGroup = groupInScope(scope, 'agents.group_name');
  return sql`${sql.ref(agentColumn)} IN (SELECT agents.id FROM agents WHERE ${inGroup})`;
}

/** Kinds of rows that belong to one host, by their names in paths. */
export type Hosted = 'agent' | 'update' | 'command' | 'event' | 'decision';

/**
 * Whether a row belongs to a host in these groups; false if there is no such row. The only query of the platform on
 * tables of slices, so that every slice applies the same rule.
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
    case 'decision':
      return db.selectFrom('decisions').select('agent_id').where('id', '=', id);
  }
}
