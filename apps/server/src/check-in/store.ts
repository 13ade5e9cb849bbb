import type { CheckInRequest } from '@tidegate/protocol/agent-api';
import { UPTIME_SLACK_SECONDS } from '../agents/clone-rules.ts';
import { CHANGING_ACTIONS } from '../blackouts/blackout-rules.ts';
import { freezeOfHost } from '../blackouts/freeze-of-host.ts';
import type { Db, Tx } from '../platform/db/engine.ts';

/**
 * Writes an agent's facts. If the uptime went back without a restart and `anyUptime` is not set, it writes
 * nothing and returns false.
 */
export async function writeFacts(
  tx: Tx,
  args: { agentId: string; facts: CheckInRequest; anyUptime: boolean },
): Promise<boolean> {
  const { agent_version, boot_id, uptime_seconds, key_set_version } = args.facts;
  let query = tx
    .updateTable('agents')
    .set({ agent_version, boot_id, uptime_seconds, key_set_version })
    .where('id', '=', args.agentId);
  if (!args.anyUptime) {
    query = query.where((e) =>
      e.or([
        e('boot_id', 'is', null),
        e('boot_id', '<>', boot_id),
        e('uptime_seconds', 'is', null),
        e('uptime_seconds', '<=', uptime_seconds + UPTIME_SLACK_SECONDS),
      ]),
    );
  }
  const { numUpdatedRows } = await query.executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Whether an open command of the agent is due or expired; what a blackout withholds does not count. */
export async function hasDueCommands(db: Db, args: { agentId: string; nowMs: number }): Promise<boolean> {
  const { agentId, nowMs } = args;
  const due = db
    .selectFrom('agent_commands')
    .select('id')
    .where('agent_id', '=', agentId)
    .where('status', 'in', ['pending', 'sent'])
    .where('not_before', '<=', nowMs)
    .limit(1);
  if ((await due.executeTakeFirst()) === undefined) return false;
  if ((await freezeOfHost(db, { agentId, nowMs })).by === null) return true;
  return (await due.where('action', 'not in', CHANGING_ACTIONS).executeTakeFirst()) !== undefined;
}
