import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { type SeenVersion, seenKey } from './seen-rules.ts';

/** Keeps what was there: the first host to have a version is the first. */
export async function insertFirstSeen(tx: Tx, rows: readonly Tables['first_seen'][]): Promise<void> {
  // One order for every writer, so that two reports do not wait for each other.
  const keyed = rows.map((row) => ({ row, key: seenKey(seenOf(row)) }));
  const sorted = keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  for (const some of chunks(sorted.map(({ row }) => row))) {
    await tx
      .insertInto('first_seen')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** When the fleet first had these versions, by `seenKey`. */
export async function readFirstSeen(db: Db, versions: readonly SeenVersion[]): Promise<Map<string, number>> {
  const wanted = new Set(versions.map(seenKey));
  const found = new Map<string, number>();
  for (const part of byScope(versions)) {
    const [first] = part;
    if (!first) continue;
    const rows = await db
      .selectFrom('first_seen')
      .selectAll()
      .where('ecosystem', '=', first.ecosystem)
      .where('scope', '=', first.scope)
      .where(
        'name',
        'in',
        part.map(({ name }) => name),
      )
      .where('version', 'in', [...new Set(part.map(({ version }) => version))])
      .execute();
    for (const row of rows) {
      const key = seenKey(seenOf(row));
      if (wanted.has(key)) found.set(key, row.first_seen_at);
    }
  }
  return found;
}

function seenOf(row: Tables['first_seen']): SeenVersion {
  return { ...row, ecosystem: row.ecosystem };
}

/** Parts of one ecosystem and scope, none larger than a statement takes. */
function byScope(versions: readonly SeenVersion[]): SeenVersion[][] {
  const scopes = Map.groupBy(versions, ({ ecosystem, scope }) => `${ecosystem}\n${scope}`);
  return [...scopes.values()].flatMap((part) => chunks(part));
}
