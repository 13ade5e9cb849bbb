import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 50,
  name: 'decisions',
  // What each decision of the gate rested on; it stays as long as its update.
  statements: [
    `CREATE TABLE decisions (
      id TEXT PRIMARY KEY,
      update_id TEXT NOT NULL REFERENCES updates (id) ON DELETE CASCADE,
      plan_id TEXT,
      outcome TEXT NOT NULL CHECK (outcome IN ('minted', 'blocked', 'handed_back')),
      actor TEXT NOT NULL,
      token_id TEXT,
      fingerprint TEXT NOT NULL,
      document TEXT NOT NULL,
      document_sha256 TEXT NOT NULL,
      decided_at BIGINT NOT NULL,
      repeated_at BIGINT,
      repeats INTEGER NOT NULL DEFAULT 0
    )`,
    'CREATE INDEX decisions_update ON decisions (update_id, id)',
  ],
};
