import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 18,
  name: 'events',
  statements: [
    `CREATE TABLE events (
      position BIGINT PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL CHECK (kind IN ('security', 'system')),
      type TEXT NOT NULL,
      severity TEXT NOT NULL,
      component TEXT NOT NULL,
      agent_id TEXT,
      actor TEXT,
      content TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      previous_hash TEXT,
      hash TEXT NOT NULL
    )`,
    'CREATE INDEX events_type ON events (type, position)',
    'CREATE INDEX events_agent ON events (agent_id, position)',
    `CREATE TABLE events_head (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      position BIGINT NOT NULL,
      hash TEXT
    )`,
    'INSERT INTO events_head (id, position, hash) VALUES (1, 0, NULL)',
    "CREATE VIEW security_events AS SELECT * FROM events WHERE kind = 'security'",
    "CREATE VIEW system_events AS SELECT * FROM events WHERE kind = 'system'",
  ],
};
