import type { Migration } from '../platform/db/migrate.ts';

const NOTHING = 'SELECT 1';

export const migration: Migration = {
  version: 75,
  name: 'envelope-storage',
  statements: [
    // Base64 does not get much smaller; PostgreSQL tried for a third of the time that an approval takes to write.
    { sqlite: NOTHING, postgres: 'ALTER TABLE approvals ALTER COLUMN envelope SET STORAGE EXTERNAL' },
  ],
};
