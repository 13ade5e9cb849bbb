import type { RestartNeed } from '@tidegate/protocol/restarts';
import type { SealColumn } from '../platform/db/seal.ts';
import { BYTEWISE, HOT_ROWS, LISTED, perEngine, type Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  perEngine`CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    machine_id TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
    hostname TEXT${BYTEWISE} NOT NULL,
    os_family TEXT NOT NULL,
    os_id TEXT${BYTEWISE} NOT NULL,
    os_version_id TEXT${BYTEWISE} NOT NULL,
    os_arch TEXT NOT NULL,
    agent_version TEXT${BYTEWISE} NOT NULL,
    boot_id TEXT,
    uptime_seconds BIGINT,
    key_set_version BIGINT NOT NULL DEFAULT 0,
    next_seq BIGINT NOT NULL DEFAULT 1,
    inventory_digests TEXT NOT NULL DEFAULT '',
    group_name TEXT,
    polling_interval_seconds INTEGER,
    enrolled_at BIGINT NOT NULL,
    bound_at BIGINT,
    revoked_at BIGINT,
    deleted_at BIGINT
  )${LISTED}`,
  'CREATE UNIQUE INDEX agents_machine ON agents (machine_id) WHERE machine_id IS NOT NULL AND deleted_at IS NULL',
  'CREATE INDEX agents_hostname ON agents (hostname, id)',
  'CREATE INDEX agents_revoked ON agents (revoked_at) WHERE revoked_at IS NOT NULL',
  'CREATE INDEX agents_deleted ON agents (deleted_at) WHERE deleted_at IS NOT NULL',
  // Groups have no table: a group exists while a host is in it.
  'CREATE INDEX agents_group ON agents (group_name) WHERE group_name IS NOT NULL',
  'CREATE INDEX agents_by_host ON agents (lower(hostname), id)',
  'CREATE INDEX agents_by_os ON agents (os_id, os_version_id, id)',
  'CREATE INDEX agents_by_enrolment ON agents (enrolled_at, id)',
  'CREATE INDEX agents_by_version ON agents (agent_version)',
  // Lists filter by expressions without an index, which PostgreSQL assumes to be rare without these statistics.
  { postgres: `CREATE STATISTICS agents_asked_1 ON (os_id || '') FROM agents` },
  { postgres: `CREATE STATISTICS agents_asked_2 ON (group_name || '') FROM agents` },

  // What operators set: policies, blackouts and holds go by these rows, so they are sealed (0052).
  `CREATE TABLE host_tags (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    seal TEXT,
    PRIMARY KEY (agent_id, key)
  )`,
  'CREATE INDEX host_tags_by_tag ON host_tags (key, value, agent_id)',
  // What hosts say of themselves, for lists only. A table of its own: nothing that decides can read it by mistake.
  `CREATE TABLE host_reported_tags (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (agent_id, key)
  )`,
  'CREATE INDEX host_reported_tags_by_tag ON host_reported_tags (key, value, agent_id)',

  // Written at every check-in, so separate from the wide rows: 80 of these share a page, and no index needs updating.
  perEngine`CREATE TABLE agent_presence (
    agent_id TEXT PRIMARY KEY REFERENCES agents (id),
    last_seen_at BIGINT NOT NULL,
    silence_told BIGINT,
    beat_slot BIGINT,
    beats BIGINT,
    late_beats BIGINT
  )${HOT_ROWS}`,

  // The last boots of each agent: one that recurs after another means a second machine with the same identity.
  `CREATE TABLE agent_boots (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    boot_id TEXT NOT NULL,
    address TEXT,
    last_seen_at BIGINT NOT NULL,
    PRIMARY KEY (agent_id, boot_id)
  )`,

  // What ran old code when the host last reported it in its present boot; hosts without a row are unknown.
  `CREATE TABLE agent_restarts (
    agent_id TEXT PRIMARY KEY REFERENCES agents (id),
    boot_id TEXT NOT NULL,
    services TEXT NOT NULL,
    reboot TEXT NOT NULL,
    restartable INTEGER NOT NULL,
    report TEXT NOT NULL,
    received_at BIGINT NOT NULL
  )`,
  'CREATE INDEX agent_restarts_by_services ON agent_restarts (services, agent_id)',
  'CREATE INDEX agent_restarts_by_reboot ON agent_restarts (reboot, agent_id)',

  `CREATE TABLE clone_suspicions (
    agent_id TEXT PRIMARY KEY REFERENCES agents (id),
    since BIGINT NOT NULL,
    evidence TEXT NOT NULL,
    raised_at BIGINT NOT NULL,
    closed_at BIGINT,
    accepted_addresses TEXT NOT NULL DEFAULT '[]'
  )`,
  'CREATE INDEX clone_suspicions_open ON clone_suspicions (agent_id) WHERE closed_at IS NULL',
];

/** Of many hosts each tag is compared by an expression without an index, which PostgreSQL took for rare. */
export const TAGS_ASKED: readonly Statement[] = ['host_tags', 'host_reported_tags'].flatMap((table) => [
  { postgres: `CREATE STATISTICS ${table}_asked ON (value || '') FROM ${table}` },
  // Tags change rarely, so that PostgreSQL would not do it soon.
  { postgres: `ANALYZE ${table}` },
]);

/** Finds the few hosts of a large fleet that are revoked, or not bound to a machine, in the order of the list. */
export const RARE_STATES: readonly Statement[] = [
  'DROP INDEX agents_revoked',
  `CREATE INDEX agents_revoked ON agents (hostname, id) WHERE status = 'revoked'`,
  `CREATE INDEX agents_unbound ON agents (hostname, id) WHERE status = 'active' AND machine_id IS NULL`,
];

/** What hosts last said of their lists and clock; hosts without a row are unknown. */
export const TIMELINESS: readonly Statement[] = [
  `CREATE TABLE agent_timeliness (
    agent_id TEXT PRIMARY KEY REFERENCES agents (id),
    ahead_ms BIGINT NOT NULL,
    list_ages TEXT NOT NULL,
    received_at BIGINT NOT NULL
  )`,
];

/** Finds the hosts whose lists are old, or whose clock is wrong. */
export const TIMELINESS_FOUND: readonly Statement[] = [
  'ALTER TABLE agent_timeliness ADD COLUMN oldest_list_seconds BIGINT',
  {
    sqlite: 'UPDATE agent_timeliness SET oldest_list_seconds = (SELECT max(value) FROM json_each(list_ages))',
    postgres:
      'UPDATE agent_timeliness SET oldest_list_seconds = (SELECT max(value::bigint) FROM json_each_text(list_ages::json))',
  },
  'CREATE INDEX agent_timeliness_lists ON agent_timeliness (oldest_list_seconds)',
  'CREATE INDEX agent_timeliness_clock ON agent_timeliness (ahead_ms)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    agents: {
      id: string;
      machine_id: string | null;
      status: 'active' | 'revoked';
      hostname: string;
      os_family: string;
      os_id: string;
      os_version_id: string;
      os_arch: string;
      agent_version: string;
      boot_id: string | null;
      uptime_seconds: number | null;
      key_set_version: number;
      next_seq: number;
      /** JSON as an agent without news sends it in its check-in: compared as text, never parsed on the hot path. */
      inventory_digests: string;
      /** A host is in at most one group. */
      group_name: string | null;
      polling_interval_seconds: number | null;
      enrolled_at: number;
      bound_at: number | null;
      revoked_at: number | null;
      deleted_at: number | null;
    };
    host_tags: {
      agent_id: string;
      key: string;
      value: string;
      set_by: string;
      set_at: number;
      seal: SealColumn;
    };
    host_reported_tags: { agent_id: string; key: string; value: string };
    agent_presence: {
      agent_id: string;
      last_seen_at: number;
      /** The `last_seen_at` whose silence an event reported; a different value means a new silence. */
      silence_told?: number | null;
      /** The newest half hour with a check-in. */
      beat_slot?: number | null;
      /** One bit per half hour up to `beat_slot`, the newest lowest: with a check-in, and with the end of a silence. */
      beats?: number | null;
      late_beats?: number | null;
    };
    agent_boots: { agent_id: string; boot_id: string; address: string | null; last_seen_at: number };
    agent_restarts: {
      agent_id: string;
      boot_id: string;
      services: RestartNeed;
      reboot: RestartNeed;
      /** 1: the report has services that can be restarted by themselves; 0: none. */
      restartable: 0 | 1;
      /** JSON of the whole report. */
      report: string;
      received_at: number;
    };
    agent_timeliness: {
      agent_id: string;
      /** The host's clock minus the server's; what the report was under way is in it. */
      ahead_ms: number;
      /** JSON of `ListAges`. */
      list_ages: string;
      /** The oldest of them; null: none is known. */
      oldest_list_seconds: number | null;
      received_at: number;
    };
    clone_suspicions: {
      agent_id: string;
      since: number;
      evidence: string;
      /** Time of its last event. */
      raised_at: number;
      closed_at: number | null;
      accepted_addresses: string;
    };
  }
}
