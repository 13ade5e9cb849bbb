import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 66,
  name: 'update-exposure',
  statements: [
    // Known vulnerabilities that the update fixes, and whether one of them is known to be exploited: counted with the
    // badge, and no decision rests on them.
    'ALTER TABLE updates ADD COLUMN fixes INTEGER',
    'ALTER TABLE updates ADD COLUMN exploited INTEGER',
    // All that the overview counts and how old it is: it never reads the rows.
    'CREATE INDEX updates_counted ON updates (state, discovered_at, verdict, exploited, fixes)',
  ],
};
