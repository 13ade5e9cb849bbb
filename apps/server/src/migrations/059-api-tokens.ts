import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 59,
  name: 'api-tokens',
  statements: [
    // The operator is not a foreign key: one who is deleted takes no row along, and the token is dead without it.
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
      revoked_at BIGINT
    )`,
    // Two that live with one name would be one actor in the events.
    'CREATE UNIQUE INDEX api_tokens_label ON api_tokens (operator_id, label) WHERE revoked_at IS NULL',
    'CREATE INDEX api_tokens_revoked ON api_tokens (revoked_at) WHERE revoked_at IS NOT NULL',
  ],
};
