import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 56,
  name: 'session-details',
  statements: [
    "ALTER TABLE operator_sessions ADD COLUMN method TEXT NOT NULL DEFAULT 'password'",
    "ALTER TABLE operator_sessions ADD COLUMN user_agent TEXT NOT NULL DEFAULT ''",
    'ALTER TABLE operator_sessions ADD COLUMN last_used_at BIGINT',
    'ALTER TABLE operator_sessions ADD COLUMN second_factor_at BIGINT',
  ],
};
