import { type Static, Type } from 'typebox';
import { ADVISORY_CHECKS } from './health-api.ts';
import { HeldBack } from './holds-api.ts';
import { Count, nullable, strict, Timestamp, Uuid } from './scalars.ts';

/** The lists that a number may open, by the path below /api/v1 without its first part. */
export const OVERVIEW_LISTS = [
  'agents',
  'updates',
  'commands',
  'events',
  'divergences',
  'signing-keys',
  'registration-tokens',
  'notification-deliveries',
] as const;

/** Where to look at what a number counts: a list, and the query parameters that give these rows. */
export const Opens = strict({
  list: Type.Enum(OVERVIEW_LISTS),
  filter: Type.Record(Type.String(), Type.String()),
});
export type Opens = Static<typeof Opens>;

/** A number, the time of the data that it was counted in, and what it opens; null where no list shows just that. */
export const Figure = strict({ count: Count, as_of: Timestamp, opens: nullable(Opens) });
export type Figure = Static<typeof Figure>;

/** The last backup that this database knows of. */
export const LastBackup = strict({
  /** When it was begun: it has what was there then. Null: there never was one. */
  taken_at: nullable(Timestamp),
  /** Null: not known, as of one that other means have made. */
  bytes: nullable(Count),
  /** It is older than 7 days; or there is none and the fleet is older than a day. */
  due: Type.Boolean(),
});
export type LastBackup = Static<typeof LastBackup>;

export const Overview = strict({
  as_of: Timestamp,
  /** Whether the numbers are of the whole fleet, or of the hosts in the caller's groups. */
  of: Type.Enum(['fleet', 'groups']),
  /** The open tasks. Null: not for this caller. */
  needs_me: strict({
    /** Updates that wait for an approval, by the newest verdict; `not_judged` has none yet. */
    waiting: strict({ clear: Figure, vulnerable: Figure, unchecked: Figure, not_judged: Figure }),
    /** Waiting updates that fix or introduce a known exploited vulnerability. */
    exploited: Figure,
    /** Waiting updates of which the worst that they fix is critical. */
    critical_fixes: Figure,
    /** Waiting updates that fix known vulnerabilities, and those that their publisher calls security updates. */
    fixes: Figure,
    security: Figure,
    /** Waiting updates without a verdict that were found more than an hour ago. */
    judging_overdue: Figure,
    /** Waiting updates that known vulnerabilities stop, under the setting in force. */
    stopped: Figure,
    /** Waiting updates that the gate stopped when somebody asked, or handed back. */
    blocked: Figure,
    failed: Figure,
    /** Approvals whose command is due and has not reached its host. */
    approvals_undelivered: Figure,
    clones_suspected: Figure,
    hosts_unbound: Figure,
    hosts_offline: Figure,
    /** Hosts whose package lists are older than two days: what they report to install is not all. */
    lists_stale: Figure,
    /** Hosts whose clock is more than 30 seconds from the server's. */
    clocks_wrong: Figure,
    divergences_open: nullable(Figure),
    /** The key in use, once it has signed for a year. */
    keys_due: nullable(Figure),
    /** Registration tokens with free seats in the last quarter of their time. */
    registration_tokens_ending: nullable(Figure),
    /** Notifications that were given up. */
    dead_letters: nullable(Figure),
    backup: nullable(LastBackup),
  }),
  /** What happened since, which is the begin of an hour, 24 hours ago at least. */
  changed: strict({
    since: Timestamp,
    installed: Figure,
    failed: Figure,
    approved: Figure,
    new_updates: Figure,
    hosts_enrolled: Figure,
  }),
  /** Conditions that may make the numbers unreliable. */
  lying: strict({
    /** Both since the same time. */
    machine_mismatches: Figure,
    token_reuse: Figure,
    /** Waiting updates with unchecked vulnerabilities. */
    unchecked: Figure,
    advisories: strict({
      status: Type.Enum(ADVISORY_CHECKS),
      /** Time of the oldest data in use; null where no mirror is loaded. */
      data_as_of: nullable(Timestamp),
      stale: Type.Array(strict({ ecosystem: Type.String(), since: Timestamp })),
      /** Ecosystems of the fleet without data, such as `Debian:12`. */
      missing: Type.Array(Type.String()),
    }),
    /** The server's clock compared with earlier records. */
    clock: strict({ ok: Type.Boolean(), behind_seconds: Count, as_of: Timestamp }),
    restore: strict({ detected_at: nullable(Timestamp), resync_open: Type.Boolean() }),
  }),
  totals: strict({
    hosts: Figure,
    hosts_bound: Figure,
    hosts_online: Figure,
    hosts_revoked: Figure,
    updates_open: Figure,
    /** Active hosts that reported their packages and on which nothing is open but what holds keep back. */
    hosts_current: Figure,
  }),
  /** What holds keep back, and the list of it. */
  held: strict({ ...HeldBack.properties, opens: Opens }),
  /** Open updates (pending, awaiting_plan, approved, installing, failed) by verdict. */
  verdicts: strict({
    clear: Count,
    vulnerable: Count,
    unchecked: Count,
    not_judged: Count,
    as_of: Timestamp,
  }),
});
export type Overview = Static<typeof Overview>;

/** Days kept, and the maximum in one answer. */
export const HISTORY_DAYS_MAX = 400;

/** One day in UTC; today is written once an hour and is not complete. */
export const HistoryDay = strict({
  day: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
  as_of: Timestamp,
  complete: Type.Boolean(),
  open: strict({ clear: Count, vulnerable: Count, unchecked: Count, not_judged: Count }),
  /** Open updates that fix known vulnerabilities. */
  exposed: Count,
  /** Hosts with an open update that fixes known vulnerabilities: each is one host-day of exposure. Null: not recorded then. */
  exposed_hosts: nullable(Count),
  /** Age of open updates since the fleet was told of them; null where there were none. */
  median_age_hours: nullable(Type.Number({ minimum: 0 })),
  p95_age_hours: nullable(Type.Number({ minimum: 0 })),
  /** Hosts seen in the 24 hours before. */
  hosts_seen: Count,
});
export type HistoryDay = Static<typeof HistoryDay>;

/** Oldest first; days on which no server ran are left out. Empty for a caller bound to groups: kept for the fleet. */
export const OverviewHistory = strict({ items: Type.Array(HistoryDay, { maxItems: HISTORY_DAYS_MAX }) });
export type OverviewHistory = Static<typeof OverviewHistory>;

export const HEARTBEAT_SLOTS = 48;
export const HEARTBEAT_SLOT_MINUTES = 30;
/** `late`: after a silence of more than three intervals. `unknown`: not enrolled yet, not due, or nobody listened. */
export const HeartbeatStatus = Type.Enum(['seen', 'late', 'missed', 'unknown']);
export type HeartbeatStatus = Static<typeof HeartbeatStatus>;

/** The last 24 hours of a host, oldest first; the last slot is the one that is not over. */
export const Heartbeats = strict({
  agent_id: Uuid,
  as_of: Timestamp,
  slot_minutes: Type.Literal(HEARTBEAT_SLOT_MINUTES),
  slots: Type.Array(strict({ from: Timestamp, status: HeartbeatStatus }), {
    minItems: HEARTBEAT_SLOTS,
    maxItems: HEARTBEAT_SLOTS,
  }),
});
export type Heartbeats = Static<typeof Heartbeats>;
