import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 88,
  name: 'factor-demands',
  // Since when an operator is asked for a second factor, and when a session without one can do nothing else any more.
  statements: [
    `CREATE TABLE operator_factor_demands (
      operator_id TEXT PRIMARY KEY REFERENCES operators (id) ON DELETE CASCADE,
      since BIGINT NOT NULL
    )`,
    'ALTER TABLE operator_sessions ADD COLUMN factor_due_at BIGINT',
  ],
};
