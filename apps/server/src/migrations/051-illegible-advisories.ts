import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 51,
  name: 'illegible-advisories',
  statements: [
    // JSON: ids of records of which nobody can tell whom they affect.
    `ALTER TABLE mirror_snapshots ADD COLUMN illegible TEXT NOT NULL DEFAULT '[]'`,
    // What was loaded before did not keep them: a snapshot with bad records clears nothing until it is loaded anew.
    `UPDATE mirror_snapshots SET illegible = '["unknown"]', loaded_at = 0 WHERE bad_records > 0`,
    `UPDATE advisory_checks SET checked_at = 0 WHERE source = 'mirror' AND verdict = 'clear'
      AND EXISTS (SELECT 1 FROM mirror_snapshots WHERE bad_records > 0)`,
  ],
};
