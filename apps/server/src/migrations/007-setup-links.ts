import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 7,
  name: 'setup-links',
  statements: [
    `CREATE TABLE setup_links (
      id TEXT PRIMARY KEY,
      secret_hash TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      used_at BIGINT
    )`,
  ],
};
