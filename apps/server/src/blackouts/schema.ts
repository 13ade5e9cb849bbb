import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Ended ones stay, for whoever asks why nothing was installed.
  `CREATE TABLE blackouts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    scope TEXT NOT NULL,
    times TEXT NOT NULL,
    over_at BIGINT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    ended_by TEXT,
    end_reason TEXT
  )`,
  'CREATE UNIQUE INDEX blackouts_name ON blackouts (name) WHERE ended_at IS NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    blackouts: {
      id: string;
      name: string;
      reason: string;
      /** JSON. */
      scope: string;
      /** JSON. */
      times: string;
      /** When a blackout between two times is over; null for those that recur. */
      over_at: number | null;
      created_by: string;
      created_at: number;
      ended_at: number | null;
      ended_by: string | null;
      end_reason: string | null;
    };
  }
}
