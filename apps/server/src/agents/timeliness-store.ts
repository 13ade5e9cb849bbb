import { Ecosystem } from '@tidegate/protocol/scalars';
import { ListAges } from '@tidegate/protocol/timeliness';
import { Value } from 'typebox/value';
import type { Db, Tx } from '../platform/db/engine.ts';

/** Agents say daily how old the lists are and what the clock shows; after two days of silence nothing is known of either. */
export const TIMELINESS_KNOWN_MS = 48 * 3_600_000;

/** What a host last said of its lists and its clock. */
export interface Timeliness {
  /** The host's clock minus the server's. */
  readonly aheadMs: number;
  readonly lists: readonly { ecosystem: Ecosystem; ageMs: number }[];
  readonly receivedMs: number;
}

/** Replaces what the host said before. */
export async function saveTimeliness(
  tx: Tx,
  { agentId, ages, aheadMs, nowMs }: { agentId: string; ages: ListAges; aheadMs: number; nowMs: number },
): Promise<void> {
  const known = Object.values(ages);
  const row = {
    ...{ ahead_ms: aheadMs, list_ages: JSON.stringify(ages), received_at: nowMs },
    oldest_list_seconds: known.length === 0 ? null : Math.max(...known),
  };
  await tx
    .insertInto('agent_timeliness')
    .values({ agent_id: agentId, ...row })
    .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(row))
    .execute();
}

/** Null: nothing is known. Throws if the stored ages are not valid. */
export async function findTimeliness(db: Db, agentId: string): Promise<Timeliness | null> {
  const row = await db
    .selectFrom('agent_timeliness')
    .selectAll()
    .where('agent_id', '=', agentId)
    .executeTakeFirst();
  if (!row) return null;
  const ages = Value.Parse(ListAges, JSON.parse(row.list_ages));
  const lists = Object.entries(ages).map(([ecosystem, seconds]) => ({
    ecosystem: Value.Parse(Ecosystem, ecosystem),
    ageMs: seconds * 1_000,
  }));
  return { aheadMs: row.ahead_ms, lists, receivedMs: row.received_at };
}
