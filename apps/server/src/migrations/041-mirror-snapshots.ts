import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 41,
  name: 'mirror-snapshots',
  statements: [
    // What is in use of each ecosystem, such as Debian, and of which time it is.
    `CREATE TABLE mirror_snapshots (
      base TEXT PRIMARY KEY,
      load_id BIGINT NOT NULL,
      releases TEXT NOT NULL,
      source TEXT NOT NULL,
      modified_mark TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      as_of BIGINT NOT NULL,
      as_of_kind TEXT NOT NULL CHECK (as_of_kind IN ('fetched', 'newest_record', 'stated')),
      loaded_at BIGINT NOT NULL,
      records BIGINT NOT NULL,
      bad_records BIGINT NOT NULL
    )`,
    // Who loads an ecosystem at the moment, how far it came, and what went wrong the last time.
    `CREATE TABLE mirror_loads (
      base TEXT PRIMARY KEY,
      load_id BIGINT NOT NULL UNIQUE,
      holder TEXT,
      started_at BIGINT NOT NULL,
      heartbeat_at BIGINT NOT NULL,
      phase TEXT NOT NULL,
      done BIGINT NOT NULL,
      total BIGINT NOT NULL,
      error TEXT,
      failures BIGINT NOT NULL,
      retry_at BIGINT NOT NULL
    )`,
  ],
};
