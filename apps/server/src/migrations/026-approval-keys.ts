import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 26,
  name: 'approval-keys',
  statements: [
    // The key that signed the token: when it is revoked, no agent takes the token any more.
    "ALTER TABLE approvals ADD COLUMN key_id TEXT NOT NULL DEFAULT ''",
  ],
};
