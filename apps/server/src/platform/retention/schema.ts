import type { Statement } from '../db/statement.ts';

/** Of release 0.2: what time it is for the removal of what is old. A database with a past begins with its newest event. */
export const RETENTION_CLOCK: readonly Statement[] = [
  `CREATE TABLE retention_clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    believed_at BIGINT NOT NULL,
    read_at BIGINT NOT NULL,
    stood_ms BIGINT NOT NULL
  )`,
  `INSERT INTO retention_clock (id, believed_at, read_at, stood_ms)
    SELECT 1, created_at, created_at, 0 FROM events WHERE position = (SELECT MAX(position) FROM events)`,
];

declare module '../db/tables.ts' {
  interface Tables {
    retention_clock: {
      id: number;
      /** The last time that the server believed. */
      believed_at: number;
      /** What its clock said last. */
      read_at: number;
      /** How long the clock has gone on in step since it jumped, in milliseconds. */
      stood_ms: number;
    };
  }
}
