import type { CommandResult } from '@tidegate/protocol/agent-api';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import type { CommandRow } from './store.ts';

/**
 * Whether a host refuses an installation because another one, which was approved too, has changed it since this
 * approval was issued: then the operator's decision stands, and only the plan is out of date.
 */
export async function isSiblingDrift(
  db: Db,
  { command, result }: { command: CommandRow; result: CommandResult },
): Promise<boolean> {
  if (result.status !== 'refused' || !/^plan_drift\b/.test(result.reason ?? '')) return false;
  const sibling = await db
    .selectFrom('agent_commands as c')
    .innerJoin('approvals as a', 'a.agent_id', 'c.agent_id')
    .select('c.id')
    .where('a.token_id', '=', command.approval_id)
    .where('c.agent_id', '=', command.agent_id)
    .where('c.id', '!=', command.id)
    .where(anyIndexBut('c.action'), '=', 'install_update')
    .where('c.status', 'in', ['success', 'failed'])
    // When the server learnt of it; a host's own clock decides nothing.
    .whereRef('c.changed_at', '>=', 'a.issued_at')
    .limit(1)
    .executeTakeFirst();
  return sibling !== undefined;
}
