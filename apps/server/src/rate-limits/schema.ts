import { HOT_ROWS, perEngine, type Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE rate_limits (
    class TEXT PRIMARY KEY,
    requests INTEGER NOT NULL,
    window_seconds INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
  )`,
];

/** Of release 0.2: what several servers count together. */
export const SHARED_COUNTS: readonly Statement[] = [
  perEngine`CREATE TABLE shared_counts (
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    idle_at BIGINT NOT NULL,
    PRIMARY KEY (name, key)
  )${HOT_ROWS}`,
];

/**
 * Guesses at names were stored by their plain hashes, which a copy of the database could be asked for. They start anew, as
 * they would within an hour.
 */
export const GUESSES_BY_MAC: readonly Statement[] = [
  "DELETE FROM shared_counts WHERE name IN ('guessers', 'guesses at a name')",
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    rate_limits: {
      class: string;
      requests: number;
      window_seconds: number;
      enabled: number;
      updated_at: number;
    };
    shared_counts: {
      name: string;
      key: string;
      /** JSON; empty until it is first written. */
      state: string;
      /** From then on the row says nothing. */
      idle_at: number;
    };
  }
}
