import type { Migration } from '../platform/db/migrate.ts';

const COLUMNS = `id, agent_id, ecosystem, name, arch, current_version, available_version, origin, security, size_bytes,
  state, state_reason, out_of_band, plan_id, approval_id, not_before, discovered_at, updated_at, verdict, severity`;

export const migration: Migration = {
  version: 38,
  name: 'updates-offered-again',
  // A version that is over may be offered again, as a row of its own: only open rows are one of a kind.
  statements: [
    // SQLite cannot drop the constraint of a table, so the table is made anew. Rows of others refer to it: they are
    // looked at when the transaction ends, and find the same ids.
    { sqlite: 'PRAGMA defer_foreign_keys = ON', postgres: 'SELECT 1' },
    { sqlite: `CREATE TABLE updates_before AS SELECT ${COLUMNS} FROM updates`, postgres: 'SELECT 1' },
    {
      sqlite: 'DROP TABLE updates',
      postgres: `DO $$ DECLARE only_one text; BEGIN
        SELECT conname INTO STRICT only_one FROM pg_constraint
          WHERE conrelid = 'updates'::regclass AND contype = 'u';
        EXECUTE format('ALTER TABLE updates DROP CONSTRAINT %I', only_one);
      END $$`,
    },
    {
      sqlite: `CREATE TABLE updates (
        id TEXT PRIMARY KEY,
        agent_id TEXT NOT NULL REFERENCES agents (id),
        ecosystem TEXT NOT NULL,
        name TEXT NOT NULL,
        arch TEXT NOT NULL,
        current_version TEXT NOT NULL,
        available_version TEXT NOT NULL,
        origin TEXT,
        security INTEGER NOT NULL DEFAULT 0,
        size_bytes BIGINT,
        state TEXT NOT NULL CHECK (state IN
          ('pending', 'awaiting_plan', 'approved', 'installing', 'installed', 'failed', 'rejected', 'superseded')),
        state_reason TEXT,
        out_of_band INTEGER NOT NULL DEFAULT 0,
        plan_id TEXT,
        approval_id TEXT,
        not_before BIGINT,
        discovered_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        verdict TEXT,
        severity TEXT
      )`,
      postgres: 'SELECT 1',
    },
    {
      sqlite: `INSERT INTO updates (${COLUMNS}) SELECT ${COLUMNS} FROM updates_before`,
      postgres: 'SELECT 1',
    },
    { sqlite: 'DROP TABLE updates_before', postgres: 'SELECT 1' },
    { sqlite: 'CREATE INDEX updates_state ON updates (state, id)', postgres: 'SELECT 1' },
    { sqlite: 'CREATE INDEX updates_name ON updates (ecosystem, name)', postgres: 'SELECT 1' },
    'CREATE INDEX updates_agent ON updates (agent_id, ecosystem)',
    `CREATE UNIQUE INDEX updates_open ON updates (agent_id, ecosystem, name, arch, available_version)
      WHERE state NOT IN ('installed', 'superseded')`,
  ],
};
