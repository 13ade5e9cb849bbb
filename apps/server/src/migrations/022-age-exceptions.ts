import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 22,
  name: 'age-exceptions',
  statements: [
    `CREATE TABLE age_exceptions (
      id TEXT PRIMARY KEY,
      ecosystem TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      reason TEXT NOT NULL,
      created_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      deleted_at BIGINT
    )`,
    'CREATE INDEX age_exceptions_package ON age_exceptions (ecosystem, name, version)',
  ],
};
