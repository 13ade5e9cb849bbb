import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 78,
  name: 'registry-hashes',
  statements: [
    // Asked again: times of PyPI may be those of other files than the plan's.
    'DELETE FROM release_times',
    `ALTER TABLE release_times ADD COLUMN standing TEXT NOT NULL DEFAULT 'unknown'`,
  ],
};
