import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';

/** Changes that are kept of one host: a release upgrade of 2,000 packages leaves 4,000. */
export const CHANGES_MAX = 5_000;
/** How long changes are kept: two quarters, which audits ask about. */
export const CHANGES_DAYS = 180;

/** Stored: a number never changes its meaning. */
const NUMBERS = { removed: 0, added: 1, held: 2 } as const;
type ChangeKind = keyof typeof NUMBERS;

export interface Change {
  readonly packageId: number;
  /** `held`: held or no longer held by the package manager, as `held` says. */
  readonly change: ChangeKind;
  /** After the change; of a removed package, before it. */
  readonly held: number;
}

/** Appends to a host's history, whose lock the caller holds, and drops what exceeds CHANGES_MAX. */
export async function recordChanges(
  tx: Tx,
  { agentNumber, changes, nowMs }: { agentNumber: number; changes: readonly Change[]; nowMs: number },
): Promise<void> {
  if (changes.length === 0) return;
  const { changes: newest } = await tx
    .updateTable('inventory_agents')
    .set((e) => ({ changes: e('changes', '+', changes.length) }))
    .where('number', '=', agentNumber)
    .returning('changes')
    .executeTakeFirstOrThrow();
  const rows = changes.map(({ packageId, change, held }, i) => ({
    ...{ agent_number: agentNumber, position: newest - changes.length + 1 + i, package_id: packageId },
    ...{ change: NUMBERS[change], held, changed_at: nowMs },
  }));
  await tx.insertInto('inventory_changes').values(rows).execute();
  await forgetChanges(tx, { agentNumber, upTo: newest - CHANGES_MAX });
}

/** Deletes a host's changes up to a position. From the last of them on, what it had is no longer known. */
export async function forgetChanges(
  tx: Tx,
  { agentNumber, upTo }: { agentNumber: number; upTo: number },
): Promise<number> {
  if (upTo <= 0) return 0;
  const last = await tx
    .selectFrom('inventory_changes')
    .select('changed_at')
    .where('agent_number', '=', agentNumber)
    .where('position', '=', upTo)
    .executeTakeFirst();
  if (!last) return 0;
  const { numDeletedRows } = await tx
    .deleteFrom('inventory_changes')
    .where('agent_number', '=', agentNumber)
    .where('position', '<=', upTo)
    .executeTakeFirst();
  await tx
    .updateTable('inventory_reports')
    .set({ changes_since: last.changed_at })
    .where('changes_since', '<', last.changed_at)
    .where('agent_id', '=', (e) =>
      e.selectFrom('inventory_agents').select('agent_id').where('number', '=', agentNumber),
    )
    .execute();
  return Number(numDeletedRows);
}

/** Hosts by number, page by page, with the last change before a time where there is one. */
export async function pageOfHistories(
  db: Db,
  { after, beforeMs, limit }: { after: number; beforeMs: number; limit: number },
): Promise<{ number: number; last: number | null }[]> {
  // The oldest change of a host tells first whether there is any: positions follow the times.
  return db
    .selectFrom('inventory_agents as h')
    .select('h.number')
    .select(
      sql<
        number | null
      >`CASE WHEN (SELECT c.changed_at FROM inventory_changes AS c WHERE c.agent_number = h.number
          ORDER BY c.position LIMIT 1) < ${beforeMs}
        THEN (SELECT max(c.position) FROM inventory_changes AS c
          WHERE c.agent_number = h.number AND c.changed_at < ${beforeMs}) END`.as('last'),
    )
    .where('h.number', '>', after)
    .orderBy('h.number')
    .limit(limit)
    .execute();
}
