import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { activeHostsIn } from '../agents/host-scope.ts';
import type { Db } from '../platform/db/engine.ts';
import { CHANGING_ACTIONS } from './blackout-rules.ts';

/** The hosts of a scope, and the commands that a blackout of them would withhold now. */
export async function countWithheld(
  db: Db,
  scope: PolicyScope,
): Promise<{ hosts: number; commands: number }> {
  const hosts = activeHostsIn(db, scope);
  const total = await hosts.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  const waiting = await db
    .selectFrom('agent_commands')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('status', 'in', ['pending', 'sent'])
    .where('action', 'in', CHANGING_ACTIONS)
    .where('agent_id', 'in', hosts.select('a.id'))
    .executeTakeFirstOrThrow();
  return { hosts: Number(total.total), commands: Number(waiting.total) };
}
