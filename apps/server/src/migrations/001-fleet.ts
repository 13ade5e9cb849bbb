import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 1,
  name: 'fleet',
  statements: [
    `CREATE TABLE fleet (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      fleet_id TEXT NOT NULL,
      epoch INTEGER NOT NULL,
      created_at BIGINT NOT NULL
    )`,
  ],
};
