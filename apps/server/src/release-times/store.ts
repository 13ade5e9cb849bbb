import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type ReleaseTimeRow = Tables['release_times'];

const INSERT_ROWS = 200;

/** Stored registry answers for some packages; a version without a row was never queried. */
export async function readReleaseTimes(
  db: Db,
  { ecosystem, names }: { ecosystem: string; names: readonly string[] },
): Promise<ReleaseTimeRow[]> {
  const found: ReleaseTimeRow[] = [];
  for (const some of chunks([...new Set(names)])) {
    const rows = await db
      .selectFrom('release_times')
      .selectAll()
      .where('ecosystem', '=', ecosystem)
      .where('name', 'in', some)
      .execute();
    found.push(...rows);
  }
  return found;
}

/** An answer without a time does not replace a time, and an older time never replaces a newer one. */
const IS_NEWER = sql<boolean>`excluded.published_at IS NOT NULL
  AND (release_times.published_at IS NULL OR excluded.published_at > release_times.published_at)`;

/** Stores answers: of two times for a version the newer stays, of two standings the last known one. */
export async function saveReleaseTimes(tx: Tx, rows: readonly ReleaseTimeRow[]): Promise<void> {
  // The same order for every writer, so that two replicas do not deadlock.
  const sorted = rows.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  for (const some of chunks(sorted, INSERT_ROWS)) {
    await tx
      .insertInto('release_times')
      .values(some)
      .onConflict((conflict) =>
        conflict.columns(['ecosystem', 'name', 'version', 'artifact']).doUpdateSet({
          published_at: sql`CASE WHEN ${IS_NEWER} THEN excluded.published_at ELSE release_times.published_at END`,
          source: sql`CASE WHEN ${IS_NEWER} THEN excluded.source ELSE release_times.source END`,
          standing: sql`CASE WHEN excluded.standing = 'unknown' THEN release_times.standing ELSE excluded.standing END`,
          fetched_at: sql`excluded.fetched_at`,
        }),
      )
      .execute();
  }
}

function orderOf({ ecosystem, name, version, artifact }: ReleaseTimeRow): string {
  return `${ecosystem}\n${name}\n${version}\n${artifact}`;
}
