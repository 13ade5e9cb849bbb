import type { ColumnType } from 'kysely';

declare const SEAL: unique symbol;

/** The MAC of a row under a key of the data folder; `platform/db/create-row-seals.ts` is the only maker. */
export type Seal = string & { readonly [SEAL]: true };

/** Every insert needs one. Null ends the right for good: only the server can make another seal. */
export type SealColumn = ColumnType<string | null, Seal, Seal | null>;
