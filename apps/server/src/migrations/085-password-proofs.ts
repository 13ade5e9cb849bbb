import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 85,
  name: 'password-proofs',
  // When the password was last proven in a session; null asks for it.
  statements: ['ALTER TABLE operator_sessions ADD COLUMN password_at BIGINT'],
};
