import { type Static, Type } from 'typebox';
import { PolicyScope } from './policies-api.ts';
import { REBOOT_WARN_MAX_MINUTES, RebootBlocker, ServiceUnit, UnitOutcome } from './reboots.ts';
import { Count, GroupName, nullable, strict, Timestamp, Uuid, visibleText, writtenText } from './scalars.ts';

/** Hosts that one request may queue. */
export const REBOOTS_ASKED_MAX = 10_000;
/** Longest time until the deadline of a request, in days. */
export const REBOOT_DEADLINE_MAX_DAYS = 30;
/** Warning of logged-in users unless a request says otherwise, in minutes. */
export const REBOOT_WARN_MINUTES = 5;
/** Hosts that the answer to a request names. */
export const REBOOT_HOSTS_SHOWN = 50;
/** Groups that the answer about slots names. */
export const SLOT_GROUPS_SHOWN = 1_000;
/** Slots that it names, of all groups together. */
export const SLOTS_SHOWN = 1_000;

export const RebootKind = Type.Enum(['reboot', 'restart_services']);
export type RebootKind = Static<typeof RebootKind>;

/** Reboots, or restarts of the services that run replaced files, on the hosts of a scope. */
export const RebootAsk = strict({
  kind: RebootKind,
  scope: PolicyScope,
  /** False: also hosts that do not need it, or of which nobody knows. Restarts of services are always by need. */
  only_needed: Type.Optional(Type.Boolean()),
  warn_minutes: Type.Optional(Type.Integer({ minimum: 0, maximum: REBOOT_WARN_MAX_MINUTES })),
  /** Logged-in users read it. */
  reason: visibleText(200),
  /** What has not begun by then is given up. */
  deadline: Timestamp,
  /** True: nothing is queued, and the answer says what would be. */
  dry_run: Type.Optional(Type.Boolean()),
});
export type RebootAsk = Static<typeof RebootAsk>;

/** Why a host of the scope is left out. */
export const REBOOT_LEFT_OUT = ['not_needed', 'unknown', 'never_checked_in', 'queued_already'] as const;
export type RebootLeftOut = (typeof REBOOT_LEFT_OUT)[number];

export const RebootsAsked = strict({
  dry_run: Type.Boolean(),
  queued: Count,
  /** The first of them. */
  hosts: Type.Array(strict({ agent_id: Uuid, hostname: Type.String() }), { maxItems: REBOOT_HOSTS_SHOWN }),
  left_out: Type.Array(strict({ why: Type.Enum(REBOOT_LEFT_OUT), hosts: Count })),
});
export type RebootsAsked = Static<typeof RebootsAsked>;

/**
 * `queued`: it waits for its turn; `running`: the host has been given the command, or is being watched after its boot;
 * `rebooted`: a new boot is proven and its probes are well, or it was restarted otherwise meanwhile (`detail`); `done`: services were restarted.
 */
export const REBOOT_STATES = [
  'queued',
  'running',
  'rebooted',
  'done',
  'failed',
  'cancelled',
  'expired',
] as const;
export const RebootState = Type.Enum(REBOOT_STATES);
export type RebootState = Static<typeof RebootState>;

/**
 * What a host waits for. `later`: it is not tried before `not_before`; `online`: it has to check in; `slot`: a slot of its
 * group; `release`: its group is halted; `healthy`: others of its group that are well; `turn`: the next turn of the queue;
 * `fetch`: it has to fetch its command, or a blackout to end.
 */
export const REBOOT_WAITS = ['later', 'online', 'slot', 'release', 'healthy', 'turn', 'fetch'] as const;
export type RebootWait = (typeof REBOOT_WAITS)[number];

/** A host in the queue. */
export const HostReboot = strict({
  id: Uuid,
  agent_id: Uuid,
  hostname: Type.String(),
  kind: RebootKind,
  state: RebootState,
  /** Null unless it is queued. */
  waits_for: nullable(Type.Enum(REBOOT_WAITS)),
  reason: Type.String(),
  warn_minutes: Count,
  asked_by: Type.String(),
  asked_at: Timestamp,
  deadline: Timestamp,
  /** The boot that is to end. */
  boot_id: Type.String(),
  /** The boot that came of it, once it is seen. */
  new_boot_id: nullable(Type.String()),
  /** Of a restart of services. */
  units: nullable(Type.Array(ServiceUnit)),
  outcomes: nullable(Type.Array(UnitOutcome)),
  attempts: Count,
  /** Not tried before then. */
  not_before: Timestamp,
  /** What was in the way of the last attempt. */
  blockers: nullable(Type.Array(RebootBlocker)),
  detail: nullable(Type.String()),
  command_id: nullable(Uuid),
  ended_at: nullable(Timestamp),
});
export type HostReboot = Static<typeof HostReboot>;

/** How many hosts of a group may be down at once. Null is the hosts of no group, which share one. */
export const SlotLimits = strict({
  group: nullable(GroupName),
  max_at_once: Type.Integer({ minimum: 1, maximum: 10_000 }),
  /** Hosts that must be up and well while another one reboots. */
  min_healthy: Type.Integer({ minimum: 0, maximum: 100_000 }),
  /** After so many hosts that failed and were not released, no other one of the group is rebooted. */
  halt_after: Type.Integer({ minimum: 1, maximum: 10_000 }),
});
export type SlotLimits = Static<typeof SlotLimits>;

/** `held`: the host has the command; `proving`: it is back, and its probes are awaited; `failed`: a person has to look. */
export const SlotState = Type.Enum(['held', 'proving', 'failed']);
export type SlotState = Static<typeof SlotState>;

export const RebootSlot = strict({
  id: Uuid,
  /** Null, with the command: a FleetLock client, and `hostname` is what it calls itself. */
  agent_id: nullable(Uuid),
  hostname: Type.String(),
  command_id: nullable(Uuid),
  state: SlotState,
  taken_at: Timestamp,
  /** When the host fails, if it is not proven by then. */
  ends_at: Timestamp,
  detail: nullable(Type.String()),
});
export type RebootSlot = Static<typeof RebootSlot>;

export const SlotGroup = strict({
  ...SlotLimits.properties,
  is_halted: Type.Boolean(),
  /** Slots that are not free. */
  taken: Count,
  /** Hosts that wait for their turn. */
  waiting: Count,
  /** Those that failed first. */
  slots: Type.Array(RebootSlot, { maxItems: SLOTS_SHOWN }),
});
export type SlotGroup = Static<typeof SlotGroup>;

export const SlotGroups = strict({ items: Type.Array(SlotGroup, { maxItems: SLOT_GROUPS_SHOWN }) });

/** Why a host that failed does not count any more. */
export const SlotRelease = strict({ reason: writtenText(1_000) });
