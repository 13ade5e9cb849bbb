import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 11,
  name: 'update-plans',
  statements: [
    `CREATE TABLE update_plans (
      id TEXT PRIMARY KEY,
      update_id TEXT NOT NULL REFERENCES updates (id),
      resolved_at BIGINT NOT NULL,
      received_at BIGINT NOT NULL,
      actions TEXT NOT NULL,
      plan_sha256 TEXT NOT NULL
    )`,
    'CREATE INDEX update_plans_update ON update_plans (update_id)',
  ],
};
