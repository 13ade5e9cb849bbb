import type { Statement } from '../db/statement.ts';

/** Of release 0.2: what one server at a time does. The epoch rises with each holder. */
export const LEASES: readonly Statement[] = [
  `CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  )`,
  "INSERT INTO leases (name, holder, epoch, expires_at) VALUES ('background', '', 0, 0)",
];

declare module '../db/tables.ts' {
  interface Tables {
    leases: {
      name: string;
      holder: string;
      epoch: number;
      /** By the clock of the database. */
      expires_at: number;
    };
  }
}
