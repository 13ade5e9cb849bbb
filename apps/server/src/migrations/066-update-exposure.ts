import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 66,
  name: 'update-exposure',
  statements: [
    // Known vulnerabilities that the update fixes: counted with the badge, and no decision rests on them.
    'ALTER TABLE updates ADD COLUMN fixes INTEGER',
    // All that the overview counts and how old it is: it never reads the rows.
    'CREATE INDEX updates_counted ON updates (state, discovered_at, verdict, known_exploited, fixes)',
  ],
};
