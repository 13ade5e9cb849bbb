import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 47,
  name: 'provenances',
  statements: [
    `CREATE TABLE provenances (
      ecosystem TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      artifact TEXT NOT NULL,
      status TEXT NOT NULL CHECK (status IN ('verified', 'unverified', 'absent', 'unknown', 'mismatch')),
      source_repository TEXT,
      builder TEXT,
      fetched_at BIGINT NOT NULL,
      PRIMARY KEY (ecosystem, name, version, artifact)
    )`,
  ],
};
