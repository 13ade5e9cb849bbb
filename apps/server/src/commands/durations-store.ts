import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut, fromHosts } from '../platform/db/from-hosts.ts';
import { percentile } from './duration-rules.ts';

/** Installations of a host that count, the newest. */
const RUNS = 20;
/** Older ones say nothing about the host as it is. */
const DAYS = 90;
/** Of twenty runs, one may take longer. */
const SHARE = 0.95;

/**
 * How long installations of these hosts usually take, in milliseconds, by the hosts' own clocks: the 95th percentile of
 * the newest runs, without their downloads. A host without any is missing. What a host says counts for itself alone.
 */
export async function usualDurations(
  db: Db,
  { agentIds, nowMs }: { agentIds: readonly string[]; nowMs: number },
): Promise<Map<string, number>> {
  const runs = new Map<string, number[]>();
  for (const some of chunks([...new Set(agentIds)])) {
    const numbered = fromHosts(db, some)
      .crossJoin('agent_commands as c')
      .select(['c.agent_id', 'c.finished_at'])
      .select(({ fn }) => fn.coalesce('c.installing_at', 'c.started_at').as('began_at'))
      .select(
        sql<number>`row_number() OVER (PARTITION BY c.agent_id ORDER BY c.created_at DESC, c.id DESC)`.as(
          'n',
        ),
      )
      .whereRef('c.agent_id', '=', 'h.id')
      .where('c.created_at', '>=', nowMs - DAYS * 86_400_000)
      .where(anyIndexBut('c.action'), '=', 'install_update')
      // One that failed without an exit code did not get as far.
      .where((e) =>
        e.or([
          e('c.status', '=', 'success'),
          e.and([e('c.status', '=', 'failed'), e('c.exit_code', 'is not', null)]),
        ]),
      )
      .where('c.started_at', 'is not', null)
      .where('c.finished_at', 'is not', null)
      .as('numbered');
    const rows = await db.selectFrom(numbered).selectAll().where('n', '<=', RUNS).execute();
    for (const { agent_id: id, began_at: beganAt, finished_at: finishedAt } of rows) {
      const list = runs.get(id) ?? [];
      list.push(Math.max(0, (finishedAt ?? 0) - (beganAt ?? 0)));
      runs.set(id, list);
    }
  }
  return new Map([...runs].map(([id, list]) => [id, percentile(list, SHARE)]));
}
