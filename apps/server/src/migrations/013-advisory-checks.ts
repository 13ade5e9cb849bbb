import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 13,
  name: 'advisory-checks',
  statements: [
    `CREATE TABLE advisory_checks (
      ecosystem TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      verdict TEXT NOT NULL CHECK (verdict IN ('clear', 'vulnerable', 'unchecked')),
      reason TEXT,
      advisory_ids TEXT NOT NULL,
      checked_at BIGINT NOT NULL,
      source TEXT NOT NULL,
      snapshot TEXT,
      PRIMARY KEY (ecosystem, name, version)
    )`,
    `CREATE TABLE advisory_coverage (
      ecosystem TEXT PRIMARY KEY,
      covered INTEGER NOT NULL,
      checked_at BIGINT NOT NULL
    )`,
  ],
};
