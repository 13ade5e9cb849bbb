import type { Statement } from '../../platform/db/statement.ts';

export const MIRROR: readonly Statement[] = [
  // The data in use of each ecosystem, such as Debian, and its time.
  `CREATE TABLE mirror_snapshots (
    base TEXT PRIMARY KEY,
    load_id BIGINT NOT NULL,
    releases TEXT NOT NULL,
    source TEXT NOT NULL,
    modified_mark TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    as_of BIGINT NOT NULL,
    as_of_kind TEXT NOT NULL CHECK (as_of_kind IN ('fetched', 'newest_record', 'stated')),
    loaded_at BIGINT NOT NULL,
    records BIGINT NOT NULL,
    bad_records BIGINT NOT NULL,
    illegible TEXT NOT NULL DEFAULT '[]'
  )`,

  // Who loads an ecosystem now, its progress, and the last fault.
  `CREATE TABLE mirror_loads (
    base TEXT PRIMARY KEY,
    load_id BIGINT NOT NULL UNIQUE,
    holder TEXT,
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    phase TEXT NOT NULL,
    done BIGINT NOT NULL,
    total BIGINT NOT NULL,
    error TEXT,
    failures BIGINT NOT NULL,
    retry_at BIGINT NOT NULL
  )`,

  // A load writes under a new number: the data in use stays complete until the new data is.
  `CREATE TABLE mirror_records (
    load_id BIGINT NOT NULL,
    id TEXT NOT NULL,
    modified TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (load_id, id)
  )`,
  `CREATE TABLE mirror_entries (
    load_id BIGINT NOT NULL,
    id TEXT NOT NULL,
    part BIGINT NOT NULL,
    eco TEXT NOT NULL,
    name TEXT NOT NULL,
    ranges_json TEXT NOT NULL,
    versions_json TEXT NOT NULL,
    PRIMARY KEY (load_id, id, part)
  )`,
  'CREATE INDEX mirror_entries_by_name ON mirror_entries (load_id, name, eco)',

  // One row while an ecosystem's advisories are too old: each such period is reported once.
  `CREATE TABLE advisory_stretches (
    ecosystem TEXT PRIMARY KEY,
    since BIGINT NOT NULL
  )`,
];

declare module '../../platform/db/tables.ts' {
  interface Tables {
    mirror_snapshots: {
      base: string;
      load_id: number;
      releases: string;
      source: string;
      modified_mark: string;
      sha256: string;
      as_of: number;
      as_of_kind: 'fetched' | 'newest_record' | 'stated';
      loaded_at: number;
      records: number;
      bad_records: number;
      /** JSON: ids of unreadable records, which may affect any package. */
      illegible: string;
    };
    mirror_loads: {
      base: string;
      load_id: number;
      holder: string | null;
      started_at: number;
      heartbeat_at: number;
      phase: string;
      done: number;
      total: number;
      error: string | null;
      failures: number;
      retry_at: number;
    };
    mirror_records: { load_id: number; id: string; modified: string; record: string };
    mirror_entries: {
      load_id: number;
      id: string;
      part: number;
      eco: string;
      name: string;
      ranges_json: string;
      versions_json: string;
    };
    advisory_stretches: { ecosystem: string; since: number };
  }
}
