import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE fleet (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fleet_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    created_at BIGINT NOT NULL
  )`,

  // A server writes these here and into its epoch file, to detect a restored database.
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

  `CREATE TABLE resyncs (
    id TEXT PRIMARY KEY,
    opened_at BIGINT NOT NULL,
    closes_at BIGINT NOT NULL,
    closed_at BIGINT,
    reason TEXT NOT NULL,
    opened_by TEXT NOT NULL,
    seal TEXT
  )`,
  // Each family may resync once per resync: a second token ahead of the database is reuse.
  `CREATE TABLE resynced_families (
    resync_id TEXT NOT NULL REFERENCES resyncs (id),
    family_id TEXT NOT NULL REFERENCES refresh_families (id),
    at BIGINT NOT NULL,
    PRIMARY KEY (resync_id, family_id)
  )`,
];

/** The newest backup that somebody has told of; at most one row. */
export const LAST_BACKUP: readonly Statement[] = [
  `CREATE TABLE last_backup (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    taken_at BIGINT NOT NULL,
    bytes BIGINT,
    made_by TEXT NOT NULL CHECK (made_by IN ('tidegate', 'other'))
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    fleet: { id: number; fleet_id: string; epoch: number; created_at: number };
    fleet_marks: {
      id: number;
      /** Rises for the life of the database; an epoch file has the highest value that its server saw. */
      mark: number;
      key_set_floor: number;
      /** Set by `tidegate restore`, until a server has started on it. */
      restored_at: number | null;
      backup_created_at: number | null;
    };
    last_backup: {
      id: number;
      /** When it was begun. */
      taken_at: number;
      /** Null: not known. */
      bytes: number | null;
      made_by: 'tidegate' | 'other';
    };
    server_instances: { id: string; started_at: number; seen_at: number };
    resyncs: {
      id: string;
      opened_at: number;
      closes_at: number;
      closed_at: number | null;
      reason: string;
      opened_by: string;
      seal: SealColumn;
    };
    resynced_families: { resync_id: string; family_id: string; at: number };
  }
}
