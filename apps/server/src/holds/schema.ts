import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Ended ones stay: decisions name them.
  `CREATE TABLE holds (
    id TEXT PRIMARY KEY,
    ecosystems TEXT NOT NULL,
    packages TEXT NOT NULL,
    scope TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    ended_at BIGINT,
    ended_by TEXT,
    enforced_at BIGINT
  )`,
  'CREATE INDEX holds_end ON holds (ends_at) WHERE ended_at IS NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    holds: {
      id: string;
      /** JSON, as the next two. */
      ecosystems: string;
      packages: string;
      scope: string;
      reason: string;
      created_by: string;
      created_at: number;
      ends_at: number;
      ended_at: number | null;
      /** `server`: it reached its end. */
      ended_by: string | null;
      /** When approvals from before it were withdrawn; null: not yet. */
      enforced_at: number | null;
    };
  }
}
