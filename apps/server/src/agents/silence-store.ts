import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import { PATIENCE_MS } from './patience-store.ts';

interface Silent {
  id: string;
  hostname: string;
  last_seen_at: number;
}

/**
 * Active agents silent for three of their intervals and not reported yet, longest silence first. Time during which
 * this server was down does not count.
 */
export async function findSilentAgents(
  db: Db,
  { nowMs, listeningSince, limit }: { nowMs: number; listeningSince: number; limit: number },
): Promise<Silent[]> {
  const silentSince = sql<number>`${sql.lit(nowMs)} - ${PATIENCE_MS}`;
  return db
    .selectFrom('agent_presence as p')
    .innerJoin('agents as a', 'a.id', 'p.agent_id')
    .select(['a.id', 'a.hostname', 'p.last_seen_at'])
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where('p.last_seen_at', '<=', silentSince)
    .where(sql.lit(listeningSince), '<=', silentSince)
    .where((e) => e.or([e('p.silence_told', 'is', null), e('p.silence_told', '<>', e.ref('p.last_seen_at'))]))
    .orderBy('p.last_seen_at')
    .orderBy('a.id')
    .limit(limit)
    .execute();
}

/** When any host was heard last; null if none ever was. */
export async function lastWord(db: Db): Promise<number | null> {
  const { at } = await db
    .selectFrom('agent_presence')
    .select((e) => e.fn.max('last_seen_at').as('at'))
    .executeTakeFirstOrThrow();
  return at;
}

/** Compare-and-swap: false when the agent meanwhile checked in, or another replica reported it. */
export async function claimSilence(
  tx: Tx,
  { agentId, lastSeenAt }: { agentId: string; lastSeenAt: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('agent_presence')
    .set({ silence_told: lastSeenAt })
    .where('agent_id', '=', agentId)
    .where('last_seen_at', '=', lastSeenAt)
    .where((e) => e.or([e('silence_told', 'is', null), e('silence_told', '<>', lastSeenAt)]))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
