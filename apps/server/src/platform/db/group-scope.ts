import { type RawBuilder, type SqlBool, sql } from 'kysely';

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
