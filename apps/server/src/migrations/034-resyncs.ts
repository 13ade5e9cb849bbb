import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 34,
  name: 'resyncs',
  statements: [
    `CREATE TABLE resyncs (
      id TEXT PRIMARY KEY,
      opened_at BIGINT NOT NULL,
      closes_at BIGINT NOT NULL,
      closed_at BIGINT,
      reason TEXT NOT NULL,
      opened_by TEXT NOT NULL
    )`,
    // A family is taken along once in each resync: the second token ahead of the database is reuse.
    `CREATE TABLE resynced_families (
      resync_id TEXT NOT NULL REFERENCES resyncs (id),
      family_id TEXT NOT NULL REFERENCES refresh_families (id),
      at BIGINT NOT NULL,
      PRIMARY KEY (resync_id, family_id)
    )`,
  ],
};
