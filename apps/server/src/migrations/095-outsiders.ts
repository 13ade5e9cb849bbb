import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 95,
  name: 'outsiders',
  statements: [
    `CREATE TABLE outsider_usage (
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      day INTEGER NOT NULL,
      rows BIGINT NOT NULL,
      bytes BIGINT NOT NULL,
      PRIMARY KEY (kind, subject, day)
    )`,
    'CREATE INDEX outsider_usage_day ON outsider_usage (day)',
    `CREATE TABLE client_errors (
      id TEXT PRIMARY KEY,
      severity TEXT NOT NULL,
      actor TEXT,
      content TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      created_at BIGINT NOT NULL
    )`,
  ],
};
