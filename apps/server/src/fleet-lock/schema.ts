import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE fleet_lock_tokens (
    id TEXT PRIMARY KEY,
    group_name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    seal TEXT
  )`,
  'CREATE INDEX fleet_lock_tokens_live ON fleet_lock_tokens (group_name) WHERE revoked_at IS NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    fleet_lock_tokens: {
      id: string;
      /** The only group whose slots it opens. */
      group_name: string;
      secret_hash: string;
      created_by: string;
      created_at: number;
      revoked_at: number | null;
      seal: SealColumn;
    };
  }
}
