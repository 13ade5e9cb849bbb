import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import type { Occurrence } from '../windows/schedule-rules.ts';

interface MissedOpening {
  readonly policyId: string;
  readonly opening: Pick<Occurrence, 'startMs' | 'endMs'>;
}

/** The column, or an expression of it where hosts are named: then their own commands are searched. */
type InstallAction = 'c.action' | ReturnType<typeof anyIndexBut>;

/** Installations that a policy asked for in an opening of a window, and whose approval expired before the host fetched any. */
function missed(
  db: Db,
  { policyId, opening: { startMs, endMs }, action }: MissedOpening & { action: InstallAction },
) {
  return db
    .selectFrom('agent_commands as c')
    .innerJoin('approvals as t', 't.token_id', 'c.approval_id')
    .select('c.agent_id')
    .where(action, '=', 'install_update')
    .where('c.created_at', '>=', startMs)
    .where('c.created_at', '<', endMs)
    .where('t.policy_id', '=', policyId)
    .where('t.void_reason', '=', 'approval_expired')
    .groupBy(['c.agent_id', 'c.approval_id'])
    .having(({ fn }) => fn.max('c.sent_at'), 'is', null);
}

/** Of some hosts: those that missed an opening. Joins commands and approvals. */
export async function missedOf(
  db: Db,
  { agentIds, ...asked }: MissedOpening & { agentIds: readonly string[] },
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const some of chunks(agentIds)) {
    const rows = await missed(db, { ...asked, action: anyIndexBut('c.action') })
      .where('c.agent_id', 'in', some)
      .execute();
    for (const { agent_id: id } of rows) found.add(id);
  }
  return found;
}

/** The active hosts that missed an opening, by name: the first ones, and how many there are. */
export async function missedHosts(
  db: Db,
  { limit, ...asked }: MissedOpening & { limit: number },
): Promise<{ count: number; hosts: { agent_id: string; hostname: string }[] }> {
  const all = db
    .selectFrom('agents as a')
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where('a.id', 'in', missed(db, { ...asked, action: 'c.action' }));
  const { count } = await all.select((e) => e.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const hosts = await all
    .select(['a.id as agent_id', 'a.hostname'])
    .orderBy('a.hostname')
    .orderBy('a.id')
    .limit(limit)
    .execute();
  return { count: Number(count), hosts };
}
