import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 54,
  name: 'operator-passkeys',
  statements: [
    `CREATE TABLE operator_passkeys (
      id TEXT PRIMARY KEY,
      operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
      credential_id TEXT NOT NULL UNIQUE,
      public_key TEXT NOT NULL,
      sign_count BIGINT NOT NULL,
      rp_id TEXT NOT NULL,
      transports TEXT NOT NULL,
      backed_up INTEGER NOT NULL,
      name TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT
    )`,
    'CREATE INDEX operator_passkeys_operator ON operator_passkeys (operator_id, id)',
  ],
};
