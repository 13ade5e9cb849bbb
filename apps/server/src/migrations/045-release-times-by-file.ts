import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 45,
  name: 'release-times-by-file',
  statements: [
    // The table was never written: PyPI's time of release is one per file, so the file belongs to the key.
    'DROP TABLE release_times',
    `CREATE TABLE release_times (
      ecosystem TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      artifact TEXT NOT NULL DEFAULT '',
      published_at BIGINT,
      source TEXT NOT NULL,
      fetched_at BIGINT NOT NULL,
      PRIMARY KEY (ecosystem, name, version, artifact)
    )`,
  ],
};
