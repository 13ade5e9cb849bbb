import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 68,
  name: 'fleet-history',
  statements: [
    // One row for each day (UTC), written anew while the day lasts.
    `CREATE TABLE fleet_days (
      day TEXT PRIMARY KEY,
      as_of BIGINT NOT NULL,
      open_clear BIGINT NOT NULL,
      open_vulnerable BIGINT NOT NULL,
      open_unchecked BIGINT NOT NULL,
      open_not_judged BIGINT NOT NULL,
      exposed BIGINT NOT NULL,
      median_age_ms BIGINT,
      p95_age_ms BIGINT,
      hosts_seen BIGINT NOT NULL
    )`,
    // The half hours of the last day in which each host was heard of, a bit each, the newest lowest; and those in which
    // it came back from a silence. They stand in the row that is written anyway.
    'ALTER TABLE agent_presence ADD COLUMN beat_slot BIGINT',
    'ALTER TABLE agent_presence ADD COLUMN beats BIGINT',
    'ALTER TABLE agent_presence ADD COLUMN late_beats BIGINT',
    // The half hours in which a server listened: in any other nothing is known of any host.
    'CREATE TABLE served_slots (slot BIGINT PRIMARY KEY)',
    // What the overview counts, without reading the rows.
    `CREATE INDEX agent_commands_undelivered ON agent_commands (not_before)
      WHERE status = 'pending' AND action = 'install_update'`,
    "CREATE INDEX decisions_stopped ON decisions (update_id) WHERE outcome <> 'minted'",
  ],
};
