import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import type { RolloutRow } from '../rollouts/store.ts';

/** The updates that a rollout has brought to hosts of a ring, or tried to, by id. */
export async function updatesOfRing(
  db: Db,
  { rollout, ring, after, limit }: { rollout: RolloutRow; ring: number; after: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('rollout_hosts as h')
    .innerJoin('agent_commands as c', 'c.agent_id', 'h.agent_id')
    .innerJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .innerJoin('command_updates as m', 'm.command_id', 'c.id')
    .innerJoin('updates as u', 'u.id', 'm.update_id')
    .select('u.id')
    .distinct()
    .where('h.rollout_id', '=', rollout.id)
    .where('h.ring', '=', ring)
    .where(anyIndexBut('c.action'), '=', 'install_update')
    .where('c.created_at', '>=', rollout.started_at)
    .where('c.finished_at', 'is not', null)
    .where('a.policy_id', '=', rollout.policy_id)
    .where(anyIndexBut('u.state'), 'in', ['installed', 'failed'])
    .where('u.taken_back', '=', 0)
    .where('u.id', '>', after)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('rollout_packages as p')
          .select('p.name')
          .where('p.rollout_id', '=', rollout.id)
          .whereRef('p.ecosystem', '=', 'u.ecosystem')
          .whereRef('p.name', '=', 'u.name')
          .whereRef('p.version', '=', 'u.available_version'),
      ),
    )
    .orderBy('u.id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}
