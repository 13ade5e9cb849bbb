import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 25,
  name: 'agent-presence',
  statements: [
    // Written for every check-in, so apart from the wide rows: 80 of these share a page, and none has an index to keep.
    {
      sqlite: `CREATE TABLE agent_presence (
        agent_id TEXT PRIMARY KEY REFERENCES agents (id),
        last_seen_at BIGINT NOT NULL
      ) WITHOUT ROWID`,
      // Free room in each page keeps the new version of a row beside the old one.
      postgres: `CREATE TABLE agent_presence (
        agent_id TEXT PRIMARY KEY REFERENCES agents (id),
        last_seen_at BIGINT NOT NULL
      ) WITH (fillfactor = 50)`,
    },
  ],
};
