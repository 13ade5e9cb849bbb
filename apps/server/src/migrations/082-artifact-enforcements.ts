import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 82,
  name: 'artifact-enforcements',
  statements: [
    // What live approvals are still to be held against: an artifact whose hash lost, or a host that was set aside.
    `CREATE TABLE artifact_enforcements (
      kind TEXT NOT NULL CHECK (kind IN ('divergence', 'host')),
      subject TEXT NOT NULL,
      width INTEGER NOT NULL,
      queued_at BIGINT NOT NULL,
      PRIMARY KEY (kind, subject)
    )`,
    'CREATE INDEX artifact_enforcements_age ON artifact_enforcements (queued_at, subject)',
    'CREATE INDEX artifact_enforcements_width ON artifact_enforcements (width, queued_at, subject)',
    `INSERT INTO artifact_enforcements
      SELECT 'divergence', id, hash_count, opened_at FROM artifact_divergences WHERE enforced_at IS NULL`,
    'DROP INDEX artifact_divergences_due',
    'ALTER TABLE artifact_divergences DROP COLUMN enforced_at',
  ],
};
