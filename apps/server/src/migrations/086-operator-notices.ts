import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 86,
  name: 'operator-notices',
  // The newest changes to an operator's own access, for the account's page; the events keep all of them.
  statements: [
    `CREATE TABLE operator_notices (
      id TEXT PRIMARY KEY,
      operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      subject TEXT,
      actor TEXT NOT NULL,
      address TEXT,
      created_at BIGINT NOT NULL,
      seen_at BIGINT
    )`,
    'CREATE INDEX operator_notices_operator ON operator_notices (operator_id, id)',
  ],
};
