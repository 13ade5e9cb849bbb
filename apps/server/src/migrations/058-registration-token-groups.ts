import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 58,
  name: 'registration-token-groups',
  // The group that hosts get which enrol with the token; null: they stay in the one that they are in, new ones in none.
  statements: ['ALTER TABLE registration_tokens ADD COLUMN group_name TEXT'],
};
