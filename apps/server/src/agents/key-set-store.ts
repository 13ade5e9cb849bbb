import type { Db } from '../platform/db/engine.ts';

/** Most agents listed by id. */
export const AGENTS_NAMED_MAX = 10_000;

export interface AgentsBehind {
  /** Active agents. */
  total: number;
  /** How many of them hold an older key set, or have not reported theirs. */
  count: number;
  /** Their ids, at most AGENTS_NAMED_MAX. */
  ids: string[];
}

/** Agents without a key set of at least this version. `seenOnly` skips agents that have never checked in. */
export async function agentsBehindKeySet(
  db: Db,
  { version, seenOnly = false }: { version: number; seenOnly?: boolean },
): Promise<AgentsBehind> {
  const acting = db.selectFrom('agents').where('status', '=', 'active').where('deleted_at', 'is', null);
  const behind = acting
    .where('key_set_version', '<', version)
    .where('key_set_version', '>=', seenOnly ? 1 : 0);
  const total = await acting.select((e) => e.fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  const count = await behind.select((e) => e.fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  const rows = await behind.select('id').orderBy('id').limit(AGENTS_NAMED_MAX).execute();
  return { total: Number(total.n), count: Number(count.n), ids: rows.map(({ id }) => id) };
}
