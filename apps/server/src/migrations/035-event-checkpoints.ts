import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 35,
  name: 'event-checkpoints',
  statements: [
    `CREATE TABLE event_checkpoints (
      position BIGINT PRIMARY KEY,
      hash TEXT NOT NULL,
      epoch BIGINT NOT NULL,
      envelope TEXT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    // Where the log begins after what is older was pruned; each one is kept for ever.
    `CREATE TABLE event_anchors (
      position BIGINT PRIMARY KEY,
      hash TEXT NOT NULL,
      envelope TEXT NOT NULL,
      moved_at BIGINT NOT NULL
    )`,
  ],
};
