import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 46,
  name: 'first-seen',
  statements: [
    `CREATE TABLE first_seen (
      ecosystem TEXT NOT NULL,
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      arch TEXT NOT NULL,
      first_seen_at BIGINT NOT NULL,
      agent_id TEXT NOT NULL,
      PRIMARY KEY (ecosystem, scope, name, version, arch)
    )`,
  ],
};
