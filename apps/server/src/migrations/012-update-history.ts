import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 12,
  name: 'update-history',
  statements: [
    `CREATE TABLE update_history (
      id TEXT PRIMARY KEY,
      update_id TEXT NOT NULL REFERENCES updates (id),
      at BIGINT NOT NULL,
      from_state TEXT,
      to_state TEXT NOT NULL,
      reason TEXT,
      actor TEXT NOT NULL
    )`,
    'CREATE INDEX update_history_update ON update_history (update_id, id)',
  ],
};
