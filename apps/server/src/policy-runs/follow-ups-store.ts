import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { RebootKind } from '@tidegate/protocol/reboots-api';
import { sql } from 'kysely';
import { activeHostsIn } from '../agents/host-scope.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';

/**
 * Hosts of a policy to be rebooted, or to have services restarted, by id: it had something installed since `installedSinceMs`, none of
 * its installations is under way, and nothing of the kind came after them, waits, or came to nothing since `askedSinceMs`. A
 * reboot restarts services as well: one that is due by `deadlineMs`, or that came after the installations, leaves none to restart. One
 * statement that joins commands, approvals, what hosts report, and the queue and the slots of reboots.
 */
export async function hostsToFollowUp(
  db: Db,
  asked: {
    kind: RebootKind;
    scope: PolicyScope;
    policyId: string;
    onlyNeeded: boolean;
    installedSinceMs: number;
    askedSinceMs: number;
    deadlineMs: number;
    limit: number;
  },
): Promise<string[]> {
  const { kind, scope, policyId, onlyNeeded, installedSinceMs, askedSinceMs, deadlineMs, limit } = asked;
  const installs = db
    .selectFrom('agent_commands as c')
    .innerJoin('approvals as t', 't.token_id', 'c.approval_id')
    .select('c.id')
    .where('c.agent_id', '=', sql.ref<string>('a.id'))
    .where(anyIndexBut('c.action'), '=', 'install_update')
    .where('t.policy_id', '=', policyId);
  const queue = db
    .selectFrom('host_reboots as r')
    .select('r.id')
    .where('r.agent_id', '=', sql.ref<string>('a.id'))
    .where('r.kind', 'in', kind === 'reboot' ? ['reboot'] : ['reboot', 'restart_services']);
  const proven = db
    .selectFrom('reboot_slots as s')
    .select('s.id')
    .where('s.agent_id', '=', sql.ref<string>('a.id'))
    .where('s.outcome', '=', 'well')
    .where('s.ended_at', '>=', sql.ref<number>('c.finished_at'));
  const followed = queue
    .where('r.state', 'in', ['rebooted', 'done'])
    .where('r.ended_at', '>=', sql.ref<number>('c.finished_at'));
  const installed = installs
    .where('c.created_at', '>=', installedSinceMs)
    .where(anyIndexBut('c.status'), '=', 'success')
    .where((e) => e.not(e.exists(proven)))
    .where((e) => e.not(e.exists(followed)));
  const underWay = installs.where(anyIndexBut('c.status'), 'in', ['pending', 'sent', 'received', 'running']);
  const waits = queue
    .where('r.ended_at', 'is', null)
    .where((e) => e.or([e('r.kind', '=', kind), e('r.deadline_at', '<=', deadlineMs)]));
  const cameToNothing = queue
    .where('r.kind', '=', kind)
    .where('r.state', 'in', ['failed', 'cancelled', 'expired'])
    .where('r.ended_at', '>=', askedSinceMs);
  const hosts = activeHostsIn(db, scope)
    .select('a.id')
    .where((e) => e.exists(installed))
    .where((e) => e.not(e.exists(underWay)))
    .where((e) => e.not(e.exists(waits)))
    .where((e) => e.not(e.exists(cameToNothing)));
  const reports = hosts.innerJoin('agent_restarts as n', (join) =>
    join.onRef('n.agent_id', '=', 'a.id').onRef('n.boot_id', '=', 'a.boot_id'),
  );
  const able =
    kind === 'restart_services'
      ? reports.where('n.restartable', '=', 1)
      : onlyNeeded
        ? reports.where('n.reboot', '=', 'needed')
        : hosts.where('a.boot_id', 'is not', null);
  const rows = await able.orderBy('a.id').limit(limit).execute();
  return rows.map(({ id }) => id);
}
