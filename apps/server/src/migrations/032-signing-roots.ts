import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 32,
  name: 'signing-roots',
  statements: [
    `CREATE TABLE signing_roots (
      version INTEGER PRIMARY KEY,
      envelope TEXT NOT NULL,
      installed_at BIGINT NOT NULL
    )`,
  ],
};
