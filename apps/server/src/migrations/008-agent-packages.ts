import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 8,
  name: 'agent-packages',
  statements: [
    `CREATE TABLE agent_packages (
      agent_id TEXT NOT NULL REFERENCES agents (id),
      ecosystem TEXT NOT NULL,
      name TEXT NOT NULL,
      arch TEXT NOT NULL,
      version TEXT NOT NULL,
      source_name TEXT,
      source_version TEXT,
      origin TEXT,
      held INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (agent_id, ecosystem, name, arch, version)
    )`,
    'CREATE INDEX agent_packages_name ON agent_packages (ecosystem, name, version)',
  ],
};
