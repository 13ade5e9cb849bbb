import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 87,
  name: 'password-lengths',
  // Whether the password that was proven in a session may stand without a second factor; null where nobody knows.
  statements: ['ALTER TABLE operator_sessions ADD COLUMN password_is_long INTEGER'],
};
