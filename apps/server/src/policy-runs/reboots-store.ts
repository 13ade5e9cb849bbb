import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { sql } from 'kysely';
import { activeHostsIn } from '../agents/host-scope.ts';
import type { Db } from '../platform/db/engine.ts';

/**
 * Hosts of a policy to be rebooted, by id: it had something installed since `installedSinceMs`, none of its installations is
 * under way, and no reboot came after them, waits, or came to nothing since `askedSinceMs`. One statement that joins
 * commands, approvals, what hosts report, and the queue and the slots of reboots.
 */
export async function hostsOfPolicyToReboot(
  db: Db,
  asked: {
    scope: PolicyScope;
    policyId: string;
    onlyNeeded: boolean;
    installedSinceMs: number;
    askedSinceMs: number;
    limit: number;
  },
): Promise<string[]> {
  const { scope, policyId, onlyNeeded, installedSinceMs, askedSinceMs, limit } = asked;
  const installs = db
    .selectFrom('agent_commands as c')
    .innerJoin('approvals as t', 't.token_id', 'c.approval_id')
    .select('c.id')
    .where('c.agent_id', '=', sql.ref<string>('a.id'))
    .where('c.action', '=', 'install_update')
    .where('t.policy_id', '=', policyId);
  const reboots = db
    .selectFrom('host_reboots as r')
    .select('r.id')
    .where('r.agent_id', '=', sql.ref<string>('a.id'))
    .where('r.kind', '=', 'reboot');
  const proven = db
    .selectFrom('reboot_slots as s')
    .select('s.id')
    .where('s.agent_id', '=', sql.ref<string>('a.id'))
    .where('s.outcome', '=', 'well')
    .where('s.ended_at', '>=', sql.ref<number>('c.finished_at'));
  const done = installs
    .where('c.created_at', '>=', installedSinceMs)
    .where('c.status', '=', 'success')
    .where((e) => e.not(e.exists(proven)))
    .where((e) =>
      e.not(
        e.exists(
          reboots
            .where('r.state', '=', 'rebooted')
            .where('r.ended_at', '>=', sql.ref<number>('c.finished_at')),
        ),
      ),
    );
  const underWay = installs.where('c.status', 'in', ['pending', 'sent', 'received', 'running']);
  const hosts = activeHostsIn(db, scope)
    .select('a.id')
    .where((e) => e.exists(done))
    .where((e) => e.not(e.exists(underWay)))
    .where((e) => e.not(e.exists(reboots.where('r.ended_at', 'is', null))))
    .where((e) =>
      e.not(
        e.exists(
          reboots
            .where('r.state', 'in', ['failed', 'cancelled', 'expired'])
            .where('r.ended_at', '>=', askedSinceMs),
        ),
      ),
    );
  const needed = onlyNeeded
    ? hosts
        .innerJoin('agent_restarts as n', (join) =>
          join.onRef('n.agent_id', '=', 'a.id').onRef('n.boot_id', '=', 'a.boot_id'),
        )
        .where('n.reboot', '=', 'needed')
    : hosts.where('a.boot_id', 'is not', null);
  const rows = await needed.orderBy('a.id').limit(limit).execute();
  return rows.map(({ id }) => id);
}
