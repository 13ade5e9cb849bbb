import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 2,
  name: 'agents',
  statements: [
    `CREATE TABLE agents (
      id TEXT PRIMARY KEY,
      machine_id TEXT,
      status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
      hostname TEXT NOT NULL,
      os_family TEXT NOT NULL,
      os_id TEXT NOT NULL,
      os_version_id TEXT NOT NULL,
      os_arch TEXT NOT NULL,
      agent_version TEXT NOT NULL,
      boot_id TEXT,
      uptime_seconds BIGINT,
      key_set_version BIGINT NOT NULL DEFAULT 0,
      next_seq BIGINT NOT NULL DEFAULT 1,
      polling_interval_seconds INTEGER,
      enrolled_at BIGINT NOT NULL,
      bound_at BIGINT,
      revoked_at BIGINT,
      deleted_at BIGINT
    )`,
    'CREATE UNIQUE INDEX agents_machine ON agents (machine_id) WHERE machine_id IS NOT NULL AND deleted_at IS NULL',
    'CREATE INDEX agents_hostname ON agents (hostname, id)',
  ],
};
