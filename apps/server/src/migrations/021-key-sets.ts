import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 21,
  name: 'key-sets',
  statements: [
    `CREATE TABLE key_sets (
      version INTEGER PRIMARY KEY,
      envelope TEXT NOT NULL,
      signed_by TEXT NOT NULL,
      issued_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL
    )`,
  ],
};
