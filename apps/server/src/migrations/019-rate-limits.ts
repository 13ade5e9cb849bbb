import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 19,
  name: 'rate-limits',
  statements: [
    `CREATE TABLE rate_limits (
      class TEXT PRIMARY KEY,
      requests INTEGER NOT NULL,
      window_seconds INTEGER NOT NULL,
      enabled INTEGER NOT NULL,
      updated_at BIGINT NOT NULL
    )`,
  ],
};
