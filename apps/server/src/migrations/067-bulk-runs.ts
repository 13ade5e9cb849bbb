import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 67,
  name: 'bulk-runs',
  statements: [
    // How far a bulk request is, for the operator who sent it, and its answer for an hour.
    `CREATE TABLE bulk_runs (
      operator_id TEXT NOT NULL,
      progress_id TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
      done BIGINT NOT NULL,
      total BIGINT NOT NULL,
      approved BIGINT NOT NULL,
      blocked BIGINT NOT NULL,
      waiting BIGINT NOT NULL,
      skipped BIGINT NOT NULL,
      started_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      answer TEXT,
      PRIMARY KEY (operator_id, progress_id)
    )`,
    'CREATE INDEX bulk_runs_updated ON bulk_runs (updated_at)',
  ],
};
