import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 23,
  name: 'agent-digests',
  statements: [
    // A copy of inventory_reports.digest on the row that each check-in reads anyway: `apt=…,npm=…`.
    "ALTER TABLE agents ADD COLUMN inventory_digests TEXT NOT NULL DEFAULT ''",
  ],
};
