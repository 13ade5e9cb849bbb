import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 20,
  name: 'signing-keys',
  statements: [
    `CREATE TABLE signing_keys (
      key_id TEXT PRIMARY KEY,
      version INTEGER NOT NULL UNIQUE,
      public_key_hex TEXT NOT NULL UNIQUE,
      status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
      created_at BIGINT NOT NULL,
      revoked_at BIGINT,
      in_use INTEGER NOT NULL DEFAULT 0,
      first_key_set_version INTEGER NOT NULL
    )`,
    'CREATE UNIQUE INDEX signing_keys_in_use ON signing_keys (in_use) WHERE in_use = 1',
  ],
};
