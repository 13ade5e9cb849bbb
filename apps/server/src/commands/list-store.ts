import { TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { agentInScope } from '../platform/db/group-scope.ts';
import { isBehind, type Order, type Position, sortedBy } from '../platform/db/keyset.ts';
import type { CommandSelection, HostedCommand } from './store.ts';

export interface CommandPage {
  readonly selection: CommandSelection & {
    /** Only commands whose approval came with this bulk request, by the id of its event. */
    readonly bulkId?: string | undefined;
    readonly sinceMs?: number | undefined;
    readonly untilMs?: number | undefined;
    /** Only commands whose time has come at `atMs`, or has not. */
    readonly due?: { readonly isDue: boolean; readonly atMs: number } | undefined;
  };
  readonly descending: boolean;
  readonly limit: number;
  readonly after: Position | null;
}

/** Commands by creation. */
export function commandOrder(descending: boolean): Order {
  return { parts: [{ by: sql`c.created_at`, type: 'number' }], id: sql`c.id`, descending };
}

/** A page of commands in order, and their total, counted up to one more than TOTAL_MAX. */
export async function listPageOfCommands(
  db: Db,
  { selection, descending, limit, after }: CommandPage,
): Promise<{ rows: HostedCommand[]; count: number }> {
  const order = commandOrder(descending);
  const meant = sql.join(conditionsOf(selection), sql` AND `);
  const behind = after === null ? sql`1 = 1` : isBehind(order, after);
  const { rows } = await sql<{ id: string }>`SELECT c.id AS id FROM agent_commands AS c
    WHERE ${meant} AND ${behind} ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(db);
  const counted = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM agent_commands AS c WHERE ${meant} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  const commands = await readCommands(
    db,
    rows.map(({ id }) => id),
  );
  return { rows: commands, count: Number(counted.rows[0]?.total) };
}

async function readCommands(db: Db, ids: readonly string[]): Promise<HostedCommand[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('agent_commands')
    .innerJoin('agents', 'agents.id', 'agent_commands.agent_id')
    .selectAll('agent_commands')
    .select('agents.hostname')
    .where('agent_commands.id', 'in', ids)
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

function conditionsOf({
  filter,
  scope,
  bulkId,
  sinceMs,
  untilMs,
  due,
}: CommandPage['selection']): RawBuilder<SqlBool>[] {
  const all: (RawBuilder<SqlBool> | false)[] = [
    sql<SqlBool>`1 = 1`,
    scope !== null && agentInScope(scope, 'c.agent_id'),
    filter.agentId !== undefined && sql<SqlBool>`c.agent_id = ${filter.agentId}`,
    filter.updateId !== undefined &&
      sql<SqlBool>`c.id IN
      (SELECT m.command_id FROM command_updates AS m WHERE m.update_id = ${filter.updateId})`,
    bulkId !== undefined && sql<SqlBool>`c.id IN (${commandsOfBulk(bulkId)})`,
    filter.status !== undefined && sql<SqlBool>`c.status = ${filter.status}`,
    filter.action !== undefined && sql<SqlBool>`c.action = ${filter.action}`,
    due !== undefined &&
      (due.isDue ? sql<SqlBool>`c.not_before <= ${due.atMs}` : sql<SqlBool>`c.not_before > ${due.atMs}`),
    sinceMs !== undefined && sql<SqlBool>`c.created_at >= ${sinceMs}`,
    untilMs !== undefined && sql<SqlBool>`c.created_at < ${untilMs}`,
  ];
  return all.filter((condition) => condition !== false);
}

/** From its approvals by the updates that they name, as no index has the commands of an approval. */
function commandsOfBulk(bulkId: string): RawBuilder<unknown> {
  return sql`SELECT k.id FROM approvals AS t CROSS JOIN approval_updates AS u CROSS JOIN command_updates AS m
    CROSS JOIN agent_commands AS k
    WHERE t.bulk_id = ${bulkId} AND u.token_id = t.token_id AND m.update_id = u.update_id
      AND k.id = m.command_id AND k.approval_id = t.token_id`;
}
