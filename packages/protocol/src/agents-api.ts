import { type Static, Type } from 'typebox';
import { HeldBack } from './holds-api.ts';
import { sortBy } from './lists-api.ts';
import { ProbesState } from './probes.ts';
import { RebootOrder, RestartOrder } from './reboots.ts';
import { RestartNeed } from './restarts.ts';
import {
  AgentVersion,
  ECOSYSTEMS,
  Ecosystem,
  GroupName,
  HostName,
  nullable,
  OsId,
  PackageName,
  PackageVersion,
  ShortText,
  strict,
  Timestamp,
  Uuid,
  VulnerabilityId,
} from './scalars.ts';
import { HostTag } from './tags-api.ts';
import { ClockState, ListsState } from './timeliness.ts';

export const AGENT_STATES = ['bound', 'unbound', 'revoked'] as const;
export const AgentState = Type.Enum(AGENT_STATES);
export type AgentState = Static<typeof AgentState>;

/** The operator's options for a suspected clone, as the requests allowed now. */
const CloneStep = Type.Object({
  act: Type.Enum(['dismiss', 'rebind', 'revoke']),
  method: Type.Literal('POST'),
  path: Type.String(),
  when: Type.String({ description: 'when this choice applies' }),
});

/** Two machines seem to use one host's identity: the observations in order, and the options. */
export const CloneSuspected = Type.Object({
  since: Timestamp,
  evidence: Type.Array(
    Type.Object({ at: Timestamp, boot_id: Type.String(), address: nullable(Type.String()) }),
  ),
  next_steps: Type.Array(CloneStep),
});
export type CloneSuspected = Static<typeof CloneSuspected>;

/** A host as operators see it (R1). */
export const AgentItem = Type.Object({
  id: Uuid,
  hostname: HostName,
  group: nullable(GroupName),
  /** What operators set, then what the host reports of itself (`host.`), each by key. */
  tags: Type.Array(HostTag),
  status: AgentState,
  online: Type.Boolean({ description: 'last check-in younger than three intervals' }),
  machine_id: nullable(Type.String()),
  os: Type.Object({
    family: ShortText,
    id: ShortText,
    version_id: Type.String(),
    arch: ShortText,
  }),
  agent_version: AgentVersion,
  uptime_seconds: nullable(Type.Integer({ minimum: 0 })),
  key_set_version: Type.Integer({ minimum: 0 }),
  check_in_interval_seconds: Type.Integer({ minimum: 1 }),
  enrolled_at: Timestamp,
  bound_at: nullable(Timestamp),
  last_seen_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  clone_suspected: nullable(CloneSuspected),
  restarts: Type.Object(
    { services: RestartNeed, reboot: RestartNeed },
    {
      description:
        'whether services, or the host, run old code; unknown until the host reports it after a boot',
    },
  ),
  /** Updates that wait for a decision, with those that holds keep back. */
  pending_updates: Type.Integer({ minimum: 0 }),
  held_updates: HeldBack,
});
export type AgentItem = Static<typeof AgentItem>;

/**
 * The statuses for filtering hosts. For hosts that are not revoked: `online` was seen within three intervals,
 * `offline` before that, `never` not at all; `needs_attention` is suspected to be a clone, unbound, offline or
 * never seen.
 */
export const HOST_STATUSES = [
  'online',
  'offline',
  'never',
  ...AGENT_STATES,
  'clone_suspected',
  'needs_attention',
] as const;
export const HostStatus = Type.Enum(HOST_STATUSES);
export type HostStatus = Static<typeof HostStatus>;

/** Filters of the list of hosts; query values are text. */
export const AgentFilter = {
  q: Type.Optional(
    Type.String({
      pattern: '^[^\\x00-\\x1f\\x7f]{1,253}$',
      description: 'part of a host name or machine id, or the start of an agent id',
    }),
  ),
  status: Type.Optional(HostStatus),
  os: Type.Optional(OsId),
  ecosystem: Type.Optional(Ecosystem),
  agent_version: Type.Optional(AgentVersion),
  online: Type.Optional(Type.Enum(['true', 'false'])),
  clone_suspected: Type.Optional(Type.Enum(['true', 'false'])),
  group: Type.Optional(GroupName),
  tag: Type.Optional(HostTag),
  services_restart: Type.Optional(RestartNeed),
  reboot: Type.Optional(RestartNeed),
  probes: Type.Optional(ProbesState),
  /** Of the hosts that are not revoked; unknown: the host has not said for two days. */
  lists: Type.Optional(ListsState),
  clock: Type.Optional(ClockState),
  /** Only hosts that have this vulnerability, named by any of its ids. */
  cve: Type.Optional(VulnerabilityId),
  package: Type.Optional(
    Type.String({ ...PackageName, description: 'installed; with `ecosystem` by that package manager' }),
  ),
  /** Whether nothing is open on it but what holds keep back. False as well of hosts that never reported their packages; revoked ones are neither. */
  up_to_date: Type.Optional(Type.Enum(['true', 'false'])),
  below: Type.Optional(
    Type.String({
      ...PackageVersion,
      description: 'with `package`: in a version before this one, as its package manager compares them',
    }),
  ),
};

export const HostFilter = strict(AgentFilter);
export type HostFilter = Static<typeof HostFilter>;

export const AGENT_SORTS = [
  'hostname',
  'last_seen_at',
  'status',
  'pending_updates',
  'os',
  'enrolled_at',
] as const;
export type AgentSortField = (typeof AGENT_SORTS)[number];
export const AGENT_SORT_DEFAULT = 'hostname';
export const AgentSort = sortBy(
  AGENT_SORTS,
  'default hostname; status: unbound, never seen, offline, online, revoked; os: by id and version',
);
export type AgentSort = Static<typeof AgentSort>;

/** Longest reason that an operator gives, in characters. */
export const REASON_MAX_CHARS = 1_000;

/** E2: a reason that says something. */
export const RebindRequest = strict({
  reason: Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS, pattern: '\\S' }),
});
export type RebindRequest = Static<typeof RebindRequest>;

/** An operator's confirmation that a suspected clone is one machine, with the reason. */
export const DismissCloneRequest = strict({ ...RebindRequest.properties });

export const RebindAnswer = strict({ agent_id: Uuid, machine_id: Type.Null(), rebind_at: Timestamp });
export type RebindAnswer = Static<typeof RebindAnswer>;

/** No body or an empty object: the path says it all. */
export const RevokeRequest = nullable(
  strict({ reason: Type.Optional(Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS })) }),
);
export const ScanRequest = nullable(
  strict({
    ecosystems: Type.Optional(
      Type.Array(Ecosystem, { minItems: 1, maxItems: ECOSYSTEMS.length, uniqueItems: true }),
    ),
  }),
);
export const RebootRequest = nullable(
  strict({
    /** What logged-in users read. */
    cause: Type.Optional(RebootOrder.properties.cause),
    /** How long they are warned; 5 without it. */
    warn_minutes: Type.Optional(RebootOrder.properties.warn_minutes),
  }),
);
export const RestartServicesRequest = nullable(
  strict({
    /** Without it, all that the host reports as running replaced files and that can be restarted by themselves. */
    units: Type.Optional(RestartOrder.properties.units),
  }),
);
export const PollingRequest = strict({ interval_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }) });

/** 202: something was queued for a host. */
export const CommandQueued = strict({ command_id: Uuid });
export type CommandQueued = Static<typeof CommandQueued>;
