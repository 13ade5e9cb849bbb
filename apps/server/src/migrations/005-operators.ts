import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 5,
  name: 'operators',
  statements: [
    `CREATE TABLE operators (
      id TEXT PRIMARY KEY,
      username TEXT NOT NULL UNIQUE,
      password_hash TEXT NOT NULL,
      role TEXT NOT NULL CHECK (role IN ('viewer', 'approver', 'admin')),
      groups TEXT,
      created_at BIGINT NOT NULL,
      disabled_at BIGINT
    )`,
  ],
};
