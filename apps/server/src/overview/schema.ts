import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // One row for each day (UTC), overwritten until the day ends.
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

  // The half hours in which a server ran: in any other nothing is known of any host.
  'CREATE TABLE served_slots (slot BIGINT PRIMARY KEY)',
];

/** Hosts with a known fix that is not installed; null on days before it was counted. */
export const EXPOSED_HOSTS: readonly Statement[] = ['ALTER TABLE fleet_days ADD COLUMN exposed_hosts BIGINT'];

declare module '../platform/db/tables.ts' {
  interface Tables {
    fleet_days: {
      day: string;
      as_of: number;
      open_clear: number;
      open_vulnerable: number;
      open_unchecked: number;
      open_not_judged: number;
      exposed: number;
      median_age_ms: number | null;
      p95_age_ms: number | null;
      hosts_seen: number;
      exposed_hosts: number | null;
    };
    served_slots: { slot: number };
  }
}
