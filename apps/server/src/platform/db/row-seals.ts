import type { Selectable } from 'kysely';
import { type Covered, nameOf, type SealedTable } from './create-row-seals.ts';
import type { Db, Tx } from './engine.ts';
import type { Seal } from './seal.ts';
import type { Tables } from './tables.ts';

/** A row without its seal, as a slice builds it. */
export type Unsealed<T extends SealedTable> = Omit<Selectable<Tables[T]>, 'seal'>;

declare const OPENED: unique symbol;
/** A row whose seal holds. Only the functions below make one, so code that skips the check does not compile. */
export type Opened<T extends SealedTable> = Unsealed<T> & { readonly [OPENED]: T };

/** Adds the seal to a row before it is written. Pass only rows that the server built itself or has opened. */
export function sealed<T extends SealedTable, R extends Covered<T>>(
  tx: Tx,
  table: T,
  row: R,
): R & { seal: Seal } {
  return { ...row, seal: tx.seals.seal(table, row) };
}

/** The row, if its seal holds. Null if there is none or the seal is broken, which is reported. */
export function opened<T extends SealedTable, R extends Covered<T> & { readonly seal: string | null }>(
  db: Db,
  table: T,
  row: R | undefined | null,
): (R & Opened<T>) | null {
  if (!row) return null;
  if (isSealed(db, table, row)) return row;
  db.seals.report({ table, row: nameOf(table, row), reason: row.seal === null ? 'missing' : 'wrong' });
  return null;
}

/** Whether the seal holds; reports nothing, for callers that record their own event. */
export function isSealed<T extends SealedTable, R extends Covered<T> & { readonly seal: string | null }>(
  db: Db,
  table: T,
  row: R,
): row is R & Opened<T> {
  return db.seals.holds(table, row);
}

/** One page of rows whose seals hold, in the order of `page`. It reads on past broken rows until the page is full. */
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
