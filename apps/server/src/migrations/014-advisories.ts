import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 14,
  name: 'advisories',
  statements: [
    `CREATE TABLE advisories (
      id TEXT PRIMARY KEY,
      modified TEXT NOT NULL,
      record TEXT NOT NULL,
      fetched_at BIGINT NOT NULL
    )`,
  ],
};
