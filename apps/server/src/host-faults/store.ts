import { CommandAction, CommandStatus } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { positionBefore } from '../events/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import type { FailedCommand } from './fault-rules.ts';

const ENDED = ['success', 'failed', 'refused', 'interrupted', 'expired'] as const;

/** When the credentials of a host ended; null while they can be renewed. */
export async function credentialsEnd(
  db: Db,
  { agentId, nowMs }: { agentId: string; nowMs: number },
): Promise<number | null> {
  const families = await db
    .selectFrom('refresh_families')
    .select(['status', 'revoked_at', 'expires_at'])
    .where('agent_id', '=', agentId)
    .execute();
  const active = families.find(({ status }) => status === 'active');
  if (active) return active.expires_at <= nowMs ? active.expires_at : null;
  const ends = families.flatMap(({ revoked_at: at }) => at ?? []);
  return ends.length === 0 ? null : Math.max(...ends);
}

/** The first refused request of another machine since then. */
export async function otherMachineSince(
  db: Db,
  { agentId, sinceMs }: { agentId: string; sinceMs: number },
): Promise<number | null> {
  const row = await db
    .selectFrom('events')
    .select('created_at')
    .where('agent_id', '=', agentId)
    .where(anyIndexBut('type'), '=', 'MACHINE_ID_MISMATCH')
    .where('position', '>', await positionBefore(db, sinceMs))
    .orderBy('position')
    .limit(1)
    .executeTakeFirst();
  return row?.created_at ?? null;
}

/** The newest command that ended, if it ended without success; a cancelled one says nothing of the host. */
export async function lastFailed(db: Db, agentId: string): Promise<FailedCommand | null> {
  const row = await db
    .selectFrom('agent_commands')
    .select(['id', 'action', 'status', 'reason', 'finished_at', 'created_at'])
    .where('agent_id', '=', agentId)
    .where(anyIndexBut('status'), 'in', ENDED)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!row || row.status === 'success') return null;
  return {
    id: row.id,
    action: Value.Parse(CommandAction, row.action),
    status: Value.Parse(CommandStatus, row.status),
    reason: row.reason,
    atMs: row.finished_at ?? row.created_at,
  };
}
