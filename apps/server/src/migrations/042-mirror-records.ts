import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 42,
  name: 'mirror-records',
  statements: [
    // A load writes under a number of its own, so that what is in use stays whole until the new one is.
    `CREATE TABLE mirror_records (
      load_id BIGINT NOT NULL,
      id TEXT NOT NULL,
      modified TEXT NOT NULL,
      record TEXT NOT NULL,
      PRIMARY KEY (load_id, id)
    )`,
    `CREATE TABLE mirror_entries (
      load_id BIGINT NOT NULL,
      id TEXT NOT NULL,
      part BIGINT NOT NULL,
      eco TEXT NOT NULL,
      name TEXT NOT NULL,
      ranges_json TEXT NOT NULL,
      versions_json TEXT NOT NULL,
      PRIMARY KEY (load_id, id, part)
    )`,
    'CREATE INDEX mirror_entries_by_name ON mirror_entries (load_id, name, eco)',
  ],
};
