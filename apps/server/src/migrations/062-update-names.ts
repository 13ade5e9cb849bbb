import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 62,
  name: 'update-names',
  statements: [
    // Every name that an update ever had: a search for a part of a name looks through these, and not through the updates.
    {
      sqlite: `CREATE TABLE update_names (
        ecosystem TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (name, ecosystem)) WITHOUT ROWID`,
      postgres: `CREATE TABLE update_names (
        ecosystem TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, PRIMARY KEY (name, ecosystem))`,
    },
    'INSERT INTO update_names (ecosystem, name) SELECT DISTINCT ecosystem, name FROM updates',
  ],
};
