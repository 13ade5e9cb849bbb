import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 15,
  name: 'release-times',
  statements: [
    `CREATE TABLE release_times (
      ecosystem TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      published_at BIGINT,
      source TEXT NOT NULL,
      fetched_at BIGINT NOT NULL,
      PRIMARY KEY (ecosystem, name, version)
    )`,
  ],
};
