import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 6,
  name: 'operator-sessions',
  statements: [
    `CREATE TABLE operator_sessions (
      id TEXT PRIMARY KEY,
      operator_id TEXT NOT NULL REFERENCES operators (id),
      csrf_hash TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      address TEXT NOT NULL,
      revoked_at BIGINT
    )`,
    'CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id)',
  ],
};
