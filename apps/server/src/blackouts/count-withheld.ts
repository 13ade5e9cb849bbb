import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { Db } from '../platform/db/engine.ts';
import { CHANGING_ACTIONS } from './blackout-rules.ts';

/** The hosts of a scope, and the commands that a blackout of them would withhold now. */
export async function countWithheld(
  db: Db,
  scope: PolicyScope,
): Promise<{ hosts: number; commands: number }> {
  let hosts = db.selectFrom('agents as a').where('a.status', '=', 'active').where('a.deleted_at', 'is', null);
  if (scope.kind === 'some') {
    hosts = hosts.where(({ eb, or }) =>
      // PostgreSQL knows no empty list.
      or([
        ...(scope.groups.length > 0 ? [eb('a.group_name', 'in', scope.groups)] : []),
        ...(scope.hosts.length > 0 ? [eb('a.id', 'in', scope.hosts)] : []),
      ]),
    );
  }
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
