import type { ColumnType } from 'kysely';

declare const SEAL: unique symbol;

/** The MAC of a row under a key of the data folder; `platform/db/create-row-seals.ts` alone makes one. */
export type Seal = string & { readonly [SEAL]: true };

/** No row is inserted without one; null ends a right for good: nobody but the server can write another. */
export type SealColumn = ColumnType<string | null, Seal, Seal | null>;
