import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // The operator is not a foreign key: deleting one keeps the row, and the token is dead without its creator.
  `CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    operator_id TEXT NOT NULL,
    label TEXT NOT NULL,
    secret_hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'approver', 'admin')),
    groups TEXT,
    scopes TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    seal TEXT
  )`,
  // Two live tokens with one label would be the same actor in the events.
  'CREATE UNIQUE INDEX api_tokens_label ON api_tokens (operator_id, label) WHERE revoked_at IS NULL',
  'CREATE INDEX api_tokens_revoked ON api_tokens (revoked_at) WHERE revoked_at IS NOT NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    api_tokens: {
      id: string;
      /** The creator; may be deleted. */
      operator_id: string;
      label: string;
      secret_hash: string;
      role: 'viewer' | 'approver' | 'admin';
      /** JSON lists; null: every group, every scope. */
      groups: string | null;
      scopes: string | null;
      created_by: string;
      created_at: number;
      expires_at: number;
      last_used_at: number | null;
      revoked_at: number | null;
      seal: SealColumn;
    };
  }
}
