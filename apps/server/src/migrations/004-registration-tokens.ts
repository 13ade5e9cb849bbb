import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 4,
  name: 'registration-tokens',
  statements: [
    `CREATE TABLE registration_tokens (
      id TEXT PRIMARY KEY,
      label TEXT NOT NULL,
      secret_hash TEXT NOT NULL UNIQUE,
      seats INTEGER NOT NULL,
      seats_used INTEGER NOT NULL DEFAULT 0,
      created_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      deleted_at BIGINT,
      CHECK (seats_used <= seats)
    )`,
  ],
};
