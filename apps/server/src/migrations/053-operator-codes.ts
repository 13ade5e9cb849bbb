import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 53,
  name: 'operator-codes',
  // Codes that operators type in: the secret of an app, sealed by a key outside of the database, and recovery codes.
  statements: [
    `CREATE TABLE operator_totp (
      operator_id TEXT PRIMARY KEY REFERENCES operators (id) ON DELETE CASCADE,
      sealed_secret TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      confirmed_at BIGINT,
      last_step BIGINT NOT NULL,
      failures INTEGER NOT NULL DEFAULT 0,
      last_failed_at BIGINT
    )`,
    `CREATE TABLE operator_recovery_codes (
      operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
      code_hash TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      used_at BIGINT,
      PRIMARY KEY (operator_id, code_hash)
    )`,
  ],
};
