import type { Statement } from '../platform/db/statement.ts';
import { APPEND_ONLY } from './append-only.ts';

export const schema: readonly Statement[] = [
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
  // There are few actors and components: a search scans these instead of the events.
  'CREATE INDEX events_by_actor ON events (actor, position)',
  'CREATE INDEX events_by_component ON events (component, position)',
  // Nearly all events are of severity info.
  "CREATE INDEX events_by_severity ON events (severity, position) WHERE severity <> 'info'",
  // All filter columns, in the order of the log: only the rows of one page are read for their content.
  'CREATE INDEX events_listed ON events (position, created_at, kind, type, severity, component, agent_id, actor)',
  "CREATE VIEW security_events AS SELECT * FROM events WHERE kind = 'security'",
  "CREATE VIEW system_events AS SELECT * FROM events WHERE kind = 'system'",

  `CREATE TABLE events_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    position BIGINT NOT NULL,
    hash TEXT
  )`,
  'INSERT INTO events_head (id, position, hash) VALUES (1, 0, NULL)',

  `CREATE TABLE event_checkpoints (
    position BIGINT PRIMARY KEY,
    hash TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    envelope TEXT NOT NULL,
    created_at BIGINT NOT NULL
  )`,
  // Where the log begins after older events were pruned; every anchor is kept.
  `CREATE TABLE event_anchors (
    position BIGINT PRIMARY KEY,
    hash TEXT NOT NULL,
    envelope TEXT NOT NULL,
    moved_at BIGINT NOT NULL
  )`,

  ...APPEND_ONLY,
];

/** Of release 0.2: how far exporters and rules for notices have read the log. */
export const EVENT_FOLLOWERS: readonly Statement[] = [
  `CREATE TABLE event_followers (
    name TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    moved_at BIGINT NOT NULL
  )`,
];

/** Of release 0.2: until when a server sends the events after the position of a follower. */
export const FOLLOWER_LEASES: readonly Statement[] = [
  'ALTER TABLE event_followers ADD COLUMN leased_until BIGINT NOT NULL DEFAULT 0',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    events: {
      position: number;
      id: string;
      kind: 'security' | 'system';
      type: string;
      severity: string;
      component: string;
      agent_id: string | null;
      actor: string | null;
      content: string;
      created_at: number;
      previous_hash: string | null;
      hash: string;
    };
    events_head: { id: number; position: number; hash: string | null };
    event_checkpoints: {
      position: number;
      hash: string;
      epoch: number;
      envelope: string;
      created_at: number;
    };
    event_anchors: { position: number; hash: string; envelope: string; moved_at: number };
    event_followers: { name: string; position: number; moved_at: number; leased_until: number };
  }
}
