import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 10,
  name: 'updates',
  statements: [
    `CREATE TABLE updates (
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
      UNIQUE (agent_id, ecosystem, name, arch, available_version)
    )`,
    'CREATE INDEX updates_state ON updates (state, id)',
    'CREATE INDEX updates_name ON updates (ecosystem, name)',
  ],
};
