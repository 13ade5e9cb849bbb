import type { CheckInRequest } from '@tidegate/protocol/agent-api';
import type { Db, Tx } from '../platform/db/engine.ts';

/** What an agent says of itself; written where it changed. */
export async function writeFacts(tx: Tx, args: { agentId: string; facts: CheckInRequest }): Promise<void> {
  const { agent_version, boot_id, uptime_seconds, key_set_version } = args.facts;
  await tx
    .updateTable('agents')
    .set({ agent_version, boot_id, uptime_seconds, key_set_version })
    .where('id', '=', args.agentId)
    .execute();
}

/** Whether an open command of the agent is due or past its time; those that are withheld can wait. */
export async function hasDueCommands(db: Db, args: { agentId: string; nowMs: number }): Promise<boolean> {
  const row = await db
    .selectFrom('agent_commands')
    .select('id')
    .where('agent_id', '=', args.agentId)
    .where('status', 'in', ['pending', 'sent'])
    .where('not_before', '<=', args.nowMs)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
