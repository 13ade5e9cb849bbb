import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 55,
  name: 'passkey-challenges',
  // Each is for one act of one operator and session (none where nobody is logged in), and goes with its use.
  statements: [
    `CREATE TABLE passkey_challenges (
      id TEXT PRIMARY KEY,
      purpose TEXT NOT NULL CHECK (purpose IN ('login', 'second_factor', 'step_up', 'add')),
      operator_id TEXT REFERENCES operators (id) ON DELETE CASCADE,
      session_id TEXT,
      challenge TEXT NOT NULL,
      rp_id TEXT NOT NULL,
      origin TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL
    )`,
    'CREATE INDEX passkey_challenges_operator ON passkey_challenges (operator_id)',
    'CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at)',
  ],
};
