import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 33,
  name: 'server-memory',
  statements: [
    // What a server writes down here and in its epoch file alike: a copy of the database that lags behind is told by it.
    `CREATE TABLE fleet_marks (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      mark BIGINT NOT NULL,
      key_set_floor BIGINT NOT NULL,
      restored_at BIGINT,
      backup_created_at BIGINT
    )`,
    'INSERT INTO fleet_marks (id, mark, key_set_floor) VALUES (1, 0, 0)',
    `CREATE TABLE server_instances (
      id TEXT PRIMARY KEY,
      started_at BIGINT NOT NULL,
      seen_at BIGINT NOT NULL
    )`,
    'CREATE INDEX refresh_families_revoked ON refresh_families (revoked_at) WHERE revoked_at IS NOT NULL',
    'CREATE INDEX agents_revoked ON agents (revoked_at) WHERE revoked_at IS NOT NULL',
    'CREATE INDEX agents_deleted ON agents (deleted_at) WHERE deleted_at IS NOT NULL',
  ],
};
