import { type Static, Type } from 'typebox';
import { Envelope } from './documents.ts';
import { MaxChange } from './offers.ts';
import { REBOOT_WARN_MAX_MINUTES } from './reboots.ts';
import { CHOSEN_MAX, Rings, RingsPreview, UnprovenRule } from './rings.ts';
import {
  Count,
  ECOSYSTEMS,
  Ecosystem,
  GroupName,
  nullable,
  Ordinal,
  PackageName,
  PackageVersion,
  Sha256Hex,
  strict,
  Timestamp,
  Uuid,
  visibleText,
  writtenText,
} from './scalars.ts';
import { HostTag } from './tags-api.ts';
import { Schedule } from './windows-api.ts';

/** DSSE payload type of a standing approval. */
export const POLICY_TYPE = 'application/vnd.tidegate.policy.v1+json';
/** Policies in force at one time. */
export const POLICIES_MAX = 200;
/** Longest life of a policy, in days. */
export const POLICY_MAX_DAYS = 365;
/** Windows of one policy. */
export const POLICY_WINDOWS_MAX = 10;
/** Shortest window of a policy, in minutes: a host has to hear of it. */
/** Longest time after a window in which hosts that missed it are caught up, in hours. */
export const CATCH_UP_MAX_HOURS = 168;
export const POLICY_WINDOW_MIN_MINUTES = 30;
/** Occurrences of its windows that an answer names. */
export const NEXT_WINDOWS_SHOWN = 5;
/** Hosts that one answer names of those that a policy matches. */
export const POLICY_HOSTS_SHOWN = 50;
/** Updates that one answer names of those that a policy would approve, or would not. */
export const POLICY_UPDATES_SHOWN = 200;

/** A name in which `*` stands for any characters. */
export const NamePattern = Type.String({
  pattern: '^[A-Za-z0-9@/._+~:*-]{1,214}$',
  minLength: 1,
  maxLength: 214,
  description: 'name; * stands for any characters',
});

/** An origin as apt reports it, such as Debian:bookworm-security, in which `*` stands for any characters. */
const OriginPattern = Type.String({
  pattern: '^[^\\p{C}]{1,256}$',
  minLength: 1,
  maxLength: 256,
  description: 'origin; * stands for any characters',
});

/** The hosts of a policy: all of the fleet, or those that one of the lists names. */
export const PolicyScope = Type.Union([
  strict({ kind: Type.Literal('all') }),
  strict({
    kind: Type.Literal('some'),
    groups: Type.Array(GroupName, { maxItems: 100, uniqueItems: true }),
    hosts: Type.Array(Uuid, { maxItems: 500, uniqueItems: true }),
    /** Tags that operators set; what hosts report of themselves is refused. */
    tags: Type.Optional(Type.Array(HostTag, { maxItems: 100, uniqueItems: true })),
  }),
]);
export type PolicyScope = Static<typeof PolicyScope>;

/** Severities that a policy may ask for, from the lowest. */
export const POLICY_SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;

/**
 * Which updates a policy approves. An update has to meet every condition, and a fact that is not known meets none:
 * a policy never approves what it cannot tell.
 */
export const PolicyTerms = strict({
  ecosystems: Type.Array(Ecosystem, { minItems: 1, maxItems: ECOSYSTEMS.length, uniqueItems: true }),
  /** Names of packages; an update has to match one of them. */
  packages: Type.Array(NamePattern, { minItems: 1, maxItems: 200, uniqueItems: true }),
  /** Names that are left out, whatever the others say. */
  except_packages: Type.Array(NamePattern, { maxItems: 200, uniqueItems: true }),
  /** Origins, one of which an update has to come from; empty: any. */
  origins: Type.Array(OriginPattern, { maxItems: 50, uniqueItems: true }),
  /** Only what the distribution calls a security update, or what fixes a known vulnerability. */
  security_only: Type.Boolean(),
  /** Only what fixes a known vulnerability of at least this severity. */
  minimum_severity: nullable(Type.Enum(POLICY_SEVERITIES)),
  /** npm and PyPI: the greatest change. */
  max_change: MaxChange,
  /** Least age of every version that is new to the host, in hours: since its release, or since the fleet first saw it. */
  min_age_hours: nullable(Type.Integer({ minimum: 1, maximum: 24 * 365 })),
  /**
   * What becomes of updates that leave known vulnerabilities on the host which were there before: a person decides, or
   * the policy approves them where the gate's setting lets a person approve them without override.
   */
  remaining_vulnerabilities: Type.Enum(['ask', 'approve']),
  /** A chosen set: only these versions of these packages. Absent: any version. */
  only: Type.Optional(
    Type.Array(strict({ ecosystem: Ecosystem, name: PackageName, version: PackageVersion }), {
      minItems: 1,
      maxItems: CHOSEN_MAX,
    }),
  ),
});
export type PolicyTerms = Static<typeof PolicyTerms>;

/**
 * Whether a policy asks for the reboot of hosts on which it had something installed: never, of those that report that
 * they need it, or of all of them.
 */
export const PolicyReboot = strict({
  when: Type.Enum(['never', 'needed', 'always']),
  warn_minutes: Type.Integer({ minimum: 0, maximum: REBOOT_WARN_MAX_MINUTES }),
});
export type PolicyReboot = Static<typeof PolicyReboot>;

/**
 * Whether a policy asks for restarts of the services that run replaced files, on hosts on which it had something installed: never,
 * or of those that report that they need it. Core services are left to reboots.
 */
export const PolicyRestarts = Type.Enum(['never', 'needed']);
export type PolicyRestarts = Static<typeof PolicyRestarts>;

/** What windows restrict, each by itself. Reading and planning are never restricted. */
export const WINDOW_ACTIONS = ['install', 'restart_services', 'reboot', 'update_agent'] as const;
export type WindowAction = (typeof WINDOW_ACTIONS)[number];
const WindowActions = Type.Array(Type.Enum(WINDOW_ACTIONS), {
  minItems: 1,
  maxItems: WINDOW_ACTIONS.length,
  uniqueItems: true,
});

/** When a policy may act, and what it may do then. */
export const PolicyWindow = strict({
  ...Schedule.properties,
  /** Absent: installing, and the restarts of services and reboots that the policy asks for. */
  actions: Type.Optional(WindowActions),
  /**
   * For so many hours after it, a host may begin to install that fetched nothing of what the policy approved for it in the window.
   * Absent: it waits for the next one.
   */
  catch_up_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: CATCH_UP_MAX_HOURS })),
});
export type PolicyWindow = Static<typeof PolicyWindow>;

/** A standing approval, as its author writes it. */
export const PolicyRequest = strict({
  name: visibleText(128),
  /** Why it exists, for whoever finds it. */
  text: writtenText(1_000),
  scope: PolicyScope,
  terms: PolicyTerms,
  /** When what it approves may begin to be installed, when its restarts of services and reboots may, and when it asks for them. None: at any time. */
  windows: Type.Array(PolicyWindow, { maxItems: POLICY_WINDOWS_MAX }),
  ends_at: Timestamp,
  /** Absent: never. */
  reboot: Type.Optional(PolicyReboot),
  /** Absent: never. */
  restart_services: Type.Optional(PolicyRestarts),
  /** The order in which its hosts get what it approves. Absent: all at once. */
  rings: Type.Optional(Rings),
  /** What becomes of packages in outer rings that no inner ring has installed. Absent: a person decides. */
  unproven: Type.Optional(UnprovenRule),
});
export type PolicyRequest = Static<typeof PolicyRequest>;

/** A change of a policy: the whole new document, and the digest that it replaces. */
export const PolicyChange = strict({ ...PolicyRequest.properties, replaces: Sha256Hex });
export type PolicyChange = Static<typeof PolicyChange>;

/** What the server signs: decisions and tokens name its digest. */
export const PolicyPayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  policy_id: Uuid,
  version: Ordinal,
  ...PolicyRequest.properties,
  author: Type.String(),
  created_at: Timestamp,
});
export type PolicyPayload = Static<typeof PolicyPayload>;

/** Why a version of a policy is not in force any more. */
export const PolicyEnd = Type.Enum([
  'replaced',
  'revoked',
  'expired',
  'author_disabled',
  'author_demoted',
  'author_bound',
  'author_deleted',
]);
export type PolicyEnd = Static<typeof PolicyEnd>;

/** How many updates are stopped, by reason, the most frequent first. */
export const StoppedBy = Type.Array(strict({ reason: Type.String(), count: Count }));
export type StoppedBy = Static<typeof StoppedBy>;

/** What the last run of a policy did; a run looks at every host of the policy once. */
export const PolicyRun = strict({
  at: Timestamp,
  hosts: Count,
  approved: Count,
  awaiting_plan: Count,
  /** What still waits and is stopped by the gate, or by the terms of the policy; asked for again when its facts change. */
  stopped: Count,
  stopped_by: StoppedBy,
});
export type PolicyRun = Static<typeof PolicyRun>;

export const Policy = strict({
  id: Uuid,
  version: Ordinal,
  /** SHA-256 of the signed payload. */
  sha256: Sha256Hex,
  ...PolicyRequest.properties,
  /** `suspended`: its author has lost the right; it runs again when somebody who has it publishes it again. */
  state: Type.Enum(['in_force', 'suspended', 'expired', 'revoked', 'replaced']),
  end_reason: nullable(PolicyEnd),
  author: Type.String(),
  created_at: Timestamp,
  ended_by: nullable(Type.String()),
  ended_at: nullable(Timestamp),
  last_run: nullable(PolicyRun),
});
export type Policy = Static<typeof Policy>;

/** `actions`: what the policy does in it. */
const WindowTimes = strict({ opens_at: Timestamp, closes_at: Timestamp, actions: WindowActions });
export type WindowTimes = Static<typeof WindowTimes>;

/** A policy as the list has it. */
export const PolicyItem = strict({
  ...Policy.properties,
  /** The window for installing that is open, or else the next; null: it has none, none comes any more, or it is not in force. */
  window: nullable(WindowTimes),
});
export type PolicyItem = Static<typeof PolicyItem>;

export const PolicyDetail = strict({
  ...Policy.properties,
  envelope: Envelope,
  /** It asks for reboots or restarts of services, and its author is no admin any more: none is asked for. */
  follow_ups_stopped: Type.Boolean(),
  /** Every version, the newest first. */
  versions: Type.Array(
    strict({
      version: Ordinal,
      sha256: Sha256Hex,
      author: Type.String(),
      created_at: Timestamp,
      end_reason: nullable(PolicyEnd),
      ended_at: nullable(Timestamp),
    }),
  ),
});
export type PolicyDetail = Static<typeof PolicyDetail>;

/** The policy by which an update was approved: `via policy/<id>@<sha256>`. */
export const PolicyReference = strict({ policy_id: Uuid, sha256: Sha256Hex });
export type PolicyReference = Static<typeof PolicyReference>;

/** Why a policy leaves an update out, before or beside the gate. */
export const POLICY_MISMATCHES = [
  'not_chosen',
  'ecosystem',
  'package',
  'excepted',
  'origin',
  'not_security',
  'severity',
  'change',
] as const;
export type PolicyMismatch = (typeof POLICY_MISMATCHES)[number];

/** An update, as an answer about a policy names it. */
export const UpdateOfHost = strict({
  update_id: Uuid,
  agent_id: Uuid,
  hostname: Type.String(),
  ecosystem: Ecosystem,
  name: Type.String(),
  to_version: Type.String(),
});

const PreviewedUpdate = strict({
  ...UpdateOfHost.properties,
  /** Why not; null for what would be approved. */
  reason: nullable(Type.String()),
});

/** The last window for installing that has closed, and the hosts that fetched nothing of what was approved for them in it. */
const MissedWindow = strict({
  window: WindowTimes,
  /** Until when these hosts are caught up; null: they wait for the next window. */
  catch_up_until: nullable(Timestamp),
  hosts: Count,
  /** The first hosts by name. */
  hosts_shown: Type.Array(strict({ agent_id: Uuid, hostname: Type.String() })),
});

/** What a policy would do now, or would do if a window of it were open. */
export const PolicyPreview = strict({
  /** The window for installing that is open; null: none is, or the policy has no windows. */
  open_window: nullable(WindowTimes),
  /** Windows that are open, but not for installing. */
  open_besides: Type.Array(WindowTimes),
  /** The next ones, in order; empty where it has no windows, or none comes any more. */
  next_windows: Type.Array(WindowTimes),
  hosts: Count,
  /** The first hosts by name. */
  hosts_shown: Type.Array(strict({ agent_id: Uuid, hostname: Type.String() })),
  approves: Count,
  /** Approved as soon as their host has sent a plan. */
  unplanned: Count,
  leaves: Count,
  /** How many updates it leaves, by reason. */
  reasons: Type.Array(strict({ reason: Type.String(), count: Count })),
  updates: Type.Array(PreviewedUpdate),
  /** Absent where it has no rings. */
  rings: Type.Optional(RingsPreview),
  /** Of a policy in force whose last window some hosts missed. */
  missed: Type.Optional(MissedWindow),
});
export type PolicyPreview = Static<typeof PolicyPreview>;
