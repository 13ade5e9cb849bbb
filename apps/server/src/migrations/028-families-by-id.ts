import type { Migration } from '../platform/db/migrate.ts';

const NOTHING = 'SELECT 1';

export const migration: Migration = {
  version: 28,
  name: 'families-by-id',
  // SQLite: the rows lie in the order of their ids, so that each check-in searches one tree for its family, not two.
  statements: [
    {
      sqlite: `CREATE TABLE families_by_id (
        id TEXT PRIMARY KEY,
        agent_id TEXT NOT NULL REFERENCES agents (id),
        status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
        revoked_reason TEXT,
        revoked_at BIGINT,
        cur_seq BIGINT NOT NULL,
        cur_hash TEXT NOT NULL,
        cur_issued_at BIGINT NOT NULL,
        prev_hash TEXT,
        prev_issued_at BIGINT,
        prev_grace_used INTEGER NOT NULL DEFAULT 0,
        displaced_hashes TEXT NOT NULL DEFAULT '[]',
        request_id_hash TEXT,
        sealed_child TEXT,
        created_at BIGINT NOT NULL,
        last_rotated_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL
      ) WITHOUT ROWID`,
      postgres: NOTHING,
    },
    { sqlite: 'INSERT INTO families_by_id SELECT * FROM refresh_families', postgres: NOTHING },
    { sqlite: 'DROP TABLE refresh_families', postgres: NOTHING },
    { sqlite: 'ALTER TABLE families_by_id RENAME TO refresh_families', postgres: NOTHING },
    {
      sqlite:
        "CREATE UNIQUE INDEX refresh_families_active ON refresh_families (agent_id) WHERE status = 'active'",
      postgres: NOTHING,
    },
  ],
};
