import type { Selectable } from 'kysely';
import { type Covered, nameOf, type SealedTable } from './create-row-seals.ts';
import type { Db, Tx } from './engine.ts';
import type { Seal } from './seal.ts';
import type { Tables } from './tables.ts';

/** A row as its slice writes it; the seal is added where it is written. */
export type Unsealed<T extends SealedTable> = Omit<Selectable<Tables[T]>, 'seal'>;

declare const OPENED: unique symbol;
/** A row whose seal was checked; only `opened` makes one, so that a path around the check does not compile. */
export type Opened<T extends SealedTable> = Unsealed<T> & { readonly [OPENED]: T };

/** The row with its seal, to be written. Only a row that the server made itself, or opened before, may come here. */
export function sealed<T extends SealedTable, R extends Covered<T>>(
  tx: Tx,
  table: T,
  row: R,
): R & { seal: Seal } {
  return { ...row, seal: tx.seals.seal(table, row) };
}

/** Null where there is no row or its seal does not hold: it is told, and the caller goes on as without the row. */
export function opened<T extends SealedTable, R extends Covered<T> & { readonly seal: string | null }>(
  db: Db,
  table: T,
  row: R | undefined | null,
): (R & Opened<T>) | null {
  if (!row) return null;
  if (isSealed(db, table, row)) return row;
  db.seals.tell({ table, row: nameOf(table, row), reason: row.seal === null ? 'missing' : 'wrong' });
  return null;
}

/** The same for who tells of a broken seal by an event of their own. */
export function isSealed<T extends SealedTable, R extends Covered<T> & { readonly seal: string | null }>(
  db: Db,
  table: T,
  row: R,
): row is R & Opened<T> {
  return db.seals.holds(table, row);
}

/**
 * A page of rows whose seals hold, in the order of `page`: rows that are left out are made up for by those that follow,
 * so that a page ends early at the end of the list alone.
 */
export async function listOpened<
  T extends SealedTable,
  R extends Covered<T> & { readonly seal: string | null },
>(
  db: Db,
  table: T,
  asked: {
    limit: number;
    after: string | null;
    keyOf: (row: R) => string;
    /** At most `limit` rows after this key. */
    page: (after: string | null) => Promise<R[]>;
  },
): Promise<(R & Opened<T>)[]> {
  const found: (R & Opened<T>)[] = [];
  for (let after = asked.after; ; ) {
    const rows = await asked.page(after);
    for (const row of rows) {
      const sound = opened(db, table, row);
      if (sound && found.length < asked.limit) found.push(sound);
    }
    const last = rows.at(-1);
    if (found.length >= asked.limit || rows.length < asked.limit || !last) return found;
    after = asked.keyOf(last);
  }
}
