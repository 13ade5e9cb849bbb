import { type Static, Type } from 'typebox';
import { APPROVAL_MAX_UPDATES, Envelope, ServerKey } from './documents.ts';
import { AGENT_EVENT_TYPES, SEVERITIES } from './event-types.ts';
import { CANDIDATES_MAX } from './offers.ts';
import { PackageCondition } from './package-condition.ts';
import { Plan } from './plan.ts';
import { HOOKS_MAX, HookRun, ProbesAround } from './probes.ts';
import { BootId, REBOOT_BLOCKERS_MAX, RESTART_UNITS_MAX, RebootBlocker, UnitOutcome } from './reboots.ts';
import { RestartReport } from './restarts.ts';
import { KeptWayBack } from './rollbacks.ts';
import {
  AgentVersion,
  Count,
  Ecosystem,
  HostName,
  PackageName,
  PackageVersion,
  Sha256Hex,
  ShortText,
  strict,
  Timestamp,
  Uuid,
} from './scalars.ts';

export const RegisterRequest = strict({
  hostname: HostName,
  os: strict({
    family: ShortText,
    id: ShortText,
    version_id: Type.String({ maxLength: 256 }),
    arch: ShortText,
  }),
  agent_version: AgentVersion,
});
export type RegisterRequest = Static<typeof RegisterRequest>;

export const TokenPair = strict({
  access_token: Type.String(),
  expires_in: Type.Integer({ minimum: 1, description: 'seconds' }),
  refresh_token: Type.String(),
  refresh_expires_at: Timestamp,
});
export type TokenPair = Static<typeof TokenPair>;

export const RegisterAnswer = strict({
  agent_id: Uuid,
  ...TokenPair.properties,
  check_in_interval_seconds: Type.Integer({ minimum: 1 }),
  keys: Type.Array(ServerKey),
  key_set: Envelope,
  /** The root document that the key set names; absent without a root. */
  root: Type.Optional(Envelope),
});
export type RegisterAnswer = Static<typeof RegisterAnswer>;

export const RenewRequest = strict({
  refresh_token: Type.String({ minLength: 1, maxLength: 512 }),
  request_id: Type.Optional(Uuid),
});
export type RenewRequest = Static<typeof RenewRequest>;

export const CheckInRequest = strict({
  agent_version: AgentVersion,
  boot_id: Type.String({ minLength: 1, maxLength: 64 }),
  uptime_seconds: Count,
  load: Type.Optional(Type.Array(Type.Number({ minimum: 0, maximum: 1e6 }), { maxItems: 3 })),
  received: Type.Array(Uuid, { maxItems: 200 }),
  key_set_version: Count,
  inventory_digest: strict({
    npm: Type.Optional(Sha256Hex),
    pypi: Type.Optional(Sha256Hex),
    apt: Type.Optional(Sha256Hex),
    dnf: Type.Optional(Sha256Hex),
    tidegate: Type.Optional(Sha256Hex),
  }),
});
export type CheckInRequest = Static<typeof CheckInRequest>;

export const CheckInAnswer = strict({
  server_time: Timestamp,
  state: Envelope,
  commands: Type.Array(Envelope),
  report: Type.Array(Ecosystem),
  next_check_in_seconds: Type.Number({ minimum: 1 }),
});
export type CheckInAnswer = Static<typeof CheckInAnswer>;

/** Most time over which hosts that found the server away spread when it comes back, in milliseconds: beyond their interval. */
export const RETURN_SPREAD_MAX_MS = 180_000;

/** Most packages that one inventory report may hold. */
export const INVENTORY_MAX_PACKAGES = 20_000;
/** Largest inventory body after decompression, in bytes. */
export const INVENTORY_MAX_BYTES = 8 * 1024 * 1024;
/** Most parts of one report, where it is larger than that. */
export const INVENTORY_MAX_PARTS = 32;
/** Most packages of all parts of a report. */
export const INVENTORY_PARTS_MAX_PACKAGES = 200_000;
/** Most updates of all parts of a report. */
export const INVENTORY_PARTS_MAX_UPDATES = 20_000;
/** Maximum total size of a host's unfinished parts, after decompression, in bytes. */
export const INVENTORY_PARTS_MAX_BYTES = 64 * 1024 * 1024;
/** Most updates that one inventory report, or one part of it, may hold. */
export const INVENTORY_MAX_UPDATES = 5_000;
/** Most packages that a delta may add or change, most that it may remove, and most updates in it. */
export const DELTA_MAX_ITEMS = 1_000;
/** Largest delta after decompression, in bytes. */
export const DELTA_MAX_BYTES = 256 * 1024;
/** Largest body of every other request, in bytes. */
export const BODY_MAX_BYTES = 1024 * 1024;

export const InventoryPackage = strict({
  name: PackageName,
  version: PackageVersion,
  arch: Type.Optional(ShortText),
  source_name: Type.Optional(PackageName),
  source_version: Type.Optional(PackageVersion),
  origin: Type.Optional(Type.String({ maxLength: 512 })),
  held: Type.Optional(Type.Boolean()),
});
export type InventoryPackage = Static<typeof InventoryPackage>;

export const InventoryUpdate = strict({
  name: PackageName,
  current_version: PackageVersion,
  available_version: PackageVersion,
  arch: Type.Optional(ShortText),
  origin: Type.Optional(Type.String({ maxLength: 512 })),
  security: Type.Optional(Type.Boolean()),
  size_bytes: Type.Optional(Count),
  /** npm and PyPI: what the registry says of this version; `newest` if absent. */
  offers: Type.Optional(
    Type.Array(Type.Enum(['series', 'newest']), { minItems: 1, maxItems: 2, uniqueItems: true }),
  ),
  /** npm and PyPI: versions above the installed one that may be installed here, the nearest first. */
  candidates: Type.Optional(Type.Array(PackageVersion, { maxItems: CANDIDATES_MAX })),
  plan: Type.Optional(Plan),
});
export type InventoryUpdate = Static<typeof InventoryUpdate>;

export const InventoryReport = strict({
  scanned_at: Timestamp,
  complete: Type.Boolean(),
  packages: Type.Array(InventoryPackage, { maxItems: INVENTORY_MAX_PACKAGES }),
  updates: Type.Array(InventoryUpdate, { maxItems: INVENTORY_MAX_UPDATES }),
  /** apt and dnf; absent: not known. */
  condition: Type.Optional(PackageCondition),
});
export type InventoryReport = Static<typeof InventoryReport>;

/** What has changed since a complete report that the server has, and the report that comes of it, which is complete too. */
export const InventoryDelta = strict({
  base_sha256: Sha256Hex,
  report_sha256: Sha256Hex,
  scanned_at: Timestamp,
  /** Packages in the report that comes of it. */
  package_count: Type.Integer({ minimum: 0, maximum: INVENTORY_PARTS_MAX_PACKAGES }),
  /** New, or with changed members. */
  put: Type.Array(InventoryPackage, { maxItems: DELTA_MAX_ITEMS }),
  gone: Type.Array(strict({ name: PackageName, version: PackageVersion, arch: Type.Optional(ShortText) }), {
    maxItems: DELTA_MAX_ITEMS,
  }),
  /** All of the report, changed or not. */
  updates: Type.Array(InventoryUpdate, { maxItems: DELTA_MAX_ITEMS }),
  condition: Type.Optional(PackageCondition),
});
export type InventoryDelta = Static<typeof InventoryDelta>;

export const InventoryAnswer = strict({
  accepted: Type.Boolean(),
  updates: Type.Array(
    strict({
      update_id: Uuid,
      name: PackageName,
      available_version: PackageVersion,
      arch: Type.Optional(ShortText),
      /** npm and PyPI: another version of the package is recommended. */
      alternative: Type.Optional(Type.Literal(true)),
    }),
  ),
});
export type InventoryAnswer = Static<typeof InventoryAnswer>;

/** The answer to a part while others are missing; the last one is answered as a whole report is. */
export const PartAnswer = strict({
  accepted: Type.Literal(true),
  missing: Type.Array(Type.Integer({ minimum: 1, maximum: INVENTORY_MAX_PARTS })),
});
export type PartAnswer = Static<typeof PartAnswer>;

/**
 * A plan and the sets of updates that it brings: all sets are of one host and ecosystem, and of one place of npm or
 * PyPI. Updates that resolve to the same transaction share one report.
 */
export const PlanReport = strict({
  sets: Type.Array(Type.Array(Uuid, { minItems: 1, maxItems: APPROVAL_MAX_UPDATES }), {
    minItems: 1,
    maxItems: APPROVAL_MAX_UPDATES,
  }),
  plan: Plan,
});
export type PlanReport = Static<typeof PlanReport>;

export const PlanAnswer = strict({ plan_sha256: Sha256Hex });

/** Longest tail of output that a result carries, in characters. */
export const OUTPUT_TAIL_MAX_CHARS = 65_536;

/** What became of one update of an installation. `already_installed`: the host had the version before it began. */
export const UpdateOutcome = Type.Enum(['installed', 'already_installed', 'failed', 'not_attempted']);
export type UpdateOutcome = Static<typeof UpdateOutcome>;

export const CommandResult = strict({
  status: Type.Enum(['running', 'success', 'failed', 'refused', 'interrupted']),
  reason: Type.Optional(Type.String({ maxLength: 4_096 })),
  exit_code: Type.Optional(Type.Integer({ minimum: -1, maximum: 255 })),
  started_at: Type.Optional(Timestamp),
  /** Of an installation that is running: when everything was downloaded and the installation began. */
  installing_at: Type.Optional(Timestamp),
  finished_at: Type.Optional(Timestamp),
  /** Only when refused: the host would accept the command from this time. */
  retry_at: Type.Optional(Timestamp),
  output_tail: Type.Optional(Type.String({ maxLength: OUTPUT_TAIL_MAX_CHARS })),
  installed: Type.Optional(
    Type.Array(strict({ name: PackageName, version: PackageVersion, arch: Type.Optional(ShortText) }), {
      maxItems: 5_000,
    }),
  ),
  /** Of a reboot that is proven: the boot that came of it. */
  boot_id: Type.Optional(BootId),
  /** Of a reboot that was refused: what is in its way. */
  blockers: Type.Optional(Type.Array(RebootBlocker, { minItems: 1, maxItems: REBOOT_BLOCKERS_MAX })),
  /** Of a restart of services: each of its units once. */
  units: Type.Optional(Type.Array(UnitOutcome, { maxItems: RESTART_UNITS_MAX })),
  /** What still runs old code after an installation or a restart of services. */
  restarts: Type.Optional(RestartReport),
  /** Of an installation: root's probes before it, and root's programs around it. */
  probes: Type.Optional(ProbesAround),
  hooks: Type.Optional(Type.Array(HookRun, { maxItems: HOOKS_MAX })),
  /** Of an installation: the replaced files that the host keeps now, of how many. */
  way_back: Type.Optional(KeptWayBack),
  /** Of an installation: each of its updates once. Absent: the status stands for all. */
  updates: Type.Optional(
    Type.Array(strict({ update_id: Uuid, outcome: UpdateOutcome }), { maxItems: APPROVAL_MAX_UPDATES }),
  ),
});
export type CommandResult = Static<typeof CommandResult>;

/** Pieces of output that the server keeps of one command; what comes after is dropped. */
export const OUTPUT_MAX_PIECES = 2_000;
/** Characters of output that the server keeps of one command. */
export const OUTPUT_MAX_CHARS = 4 * 1024 * 1024;
/** Characters of one piece. */
export const OUTPUT_PIECE_MAX_CHARS = 65_536;

/** A piece of the output of a command. `seq` orders the pieces and is new for each; it need not be the next number. */
export const CommandOutput = strict({
  seq: Count,
  stream: Type.Enum(['stdout', 'stderr']),
  data: Type.String({ maxLength: OUTPUT_PIECE_MAX_CHARS }),
});
export type CommandOutput = Static<typeof CommandOutput>;

export const AgentEvent = strict({
  type: Type.Enum(AGENT_EVENT_TYPES),
  severity: Type.Enum(SEVERITIES),
  message: Type.String({ minLength: 1, maxLength: 4_096 }),
  at: Timestamp,
  details: Type.Optional(Type.Record(Type.String({ maxLength: 128 }), Type.Unknown())),
});
export type AgentEvent = Static<typeof AgentEvent>;

export const AgentEvents = strict({ events: Type.Array(AgentEvent, { maxItems: 100 }) });
export type AgentEvents = Static<typeof AgentEvents>;

/**
 * Faults of a result that its schema cannot say (docs/protocol/endpoints.md: no start when refused, no end
 * while running).
 */
export function commandResultFaults(result: CommandResult): { path: string; message: string }[] {
  const faults: { path: string; message: string }[] = [];
  if (result.status === 'refused' && result.started_at !== undefined) {
    faults.push({ path: '/started_at', message: 'is not allowed when refused' });
  }
  if (result.status !== 'refused' && result.retry_at !== undefined) {
    faults.push({ path: '/retry_at', message: 'is allowed only when refused' });
  }
  if (result.status === 'running' && result.finished_at !== undefined) {
    faults.push({ path: '/finished_at', message: 'is not allowed while running' });
  }
  if (result.status !== 'running' && result.installing_at !== undefined) {
    faults.push({ path: '/installing_at', message: 'is allowed only while running' });
  } else if (Date.parse(result.installing_at ?? '') < Date.parse(result.started_at ?? '')) {
    faults.push({ path: '/installing_at', message: 'must not be before started_at' });
  }
  if (result.status !== 'refused' && result.blockers !== undefined) {
    faults.push({ path: '/blockers', message: 'is allowed only when refused' });
  }
  const named = (result.updates ?? []).map(({ update_id }) => update_id);
  if (new Set(named).size !== named.length) {
    faults.push({ path: '/updates', message: 'must name each update once' });
  }
  const wrong = (result.updates ?? []).findIndex(({ outcome }) => !mayEnd(result.status, outcome));
  if (wrong !== -1) {
    faults.push({
      path: `/updates/${wrong}/outcome`,
      message: `does not go with the status ${result.status}`,
    });
  }
  return faults;
}

/** Whether an update may have this outcome in a result of this status. */
function mayEnd(status: CommandResult['status'], outcome: UpdateOutcome): boolean {
  switch (status) {
    case 'success':
      return outcome === 'installed' || outcome === 'already_installed';
    case 'failed':
    case 'interrupted':
      return true;
    case 'running':
    case 'refused':
      return false;
  }
}
