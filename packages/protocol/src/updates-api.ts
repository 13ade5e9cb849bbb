import { type Static, Type } from 'typebox';
import { HeldBack } from './holds-api.ts';
import { sortBy } from './lists-api.ts';
import { Change, MaxChange, Offer } from './offers.ts';
import { PlanAction } from './plan.ts';
import { RestartNeed } from './restarts.ts';
import { WayBack } from './rollbacks.ts';
import {
  Count,
  Ecosystem,
  GroupName,
  HostPattern,
  nullable,
  OsId,
  PackageName,
  Sha256Hex,
  strict,
  Timestamp,
  Uuid,
  VulnerabilityId,
} from './scalars.ts';
import { UpdateState, VERDICTS, VulnerabilityVerdict } from './states.ts';
import { HostTag } from './tags-api.ts';
import { VulnerabilityPolicy } from './vulnerability-policy-api.ts';

/** Severities of advisories, as the badge of an update shows them. */
export const ADVISORY_SEVERITIES = ['none', 'low', 'medium', 'high', 'critical', 'unknown'] as const;

const Flag = Type.Union([Type.Literal('true'), Type.Literal('false'), Type.Boolean()]);

/** Which updates: the same object in query parameters, bulk requests (E4) and saved views. */
export const UpdateFilter = strict({
  state: Type.Optional(UpdateState),
  /** Whether it is neither installed nor closed: pending, awaiting its plan, approved, installing or failed. */
  open: Type.Optional(Flag),
  ecosystem: Type.Optional(Ecosystem),
  name: Type.Optional(PackageName),
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'part of the package name' })),
  agent_id: Type.Optional(Uuid),
  group: Type.Optional(GroupName),
  tag: Type.Optional(HostTag),
  severity: Type.Optional(Type.Enum(ADVISORY_SEVERITIES)),
  verdict: Type.Optional(Type.Enum([...VERDICTS, 'not_judged'])),
  /** Only updates that known vulnerabilities stop under this setting of what stops an approval. */
  stopped_under: Type.Optional(VulnerabilityPolicy),
  /** Whether the gate has stopped it when somebody asked for it, or handed it back. */
  blocked: Type.Optional(Flag),
  security: Type.Optional(Flag),
  /** Whether a hold keeps it back while it waits for an approval. */
  held: Type.Optional(Flag),
  exploited: Type.Optional(Flag),
  /** Only updates that are judged to fix this vulnerability, named by any of its ids. */
  cve: Type.Optional(VulnerabilityId),
  /** Whether the part of the verdict has known vulnerabilities; neither value matches what is not known. */
  introduces: Type.Optional(Flag),
  stays: Type.Optional(Flag),
  fixes: Type.Optional(Flag),
  /** The worst severity of what the update fixes, and whether that has something known to be exploited. */
  fixes_severity: Type.Optional(Type.Enum(ADVISORY_SEVERITIES)),
  fixes_exploited: Type.Optional(Flag),
  /** npm and PyPI: only versions that are offered as this. */
  offer: Type.Optional(Offer),
  /** npm and PyPI: of each package the newest version that is no greater change; the others as without it. */
  max_change: Type.Optional(MaxChange),
  /** `true`: also the versions that wait beside the recommended one of their package. */
  alternatives: Type.Optional(Flag),
  os: Type.Optional(OsId),
  host: Type.Optional(HostPattern),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
});
export type UpdateFilter = Static<typeof UpdateFilter>;

export const UPDATE_SORTS = [
  'discovered_at',
  'name',
  'hostname',
  'severity',
  'exploited',
  'urgency',
  'state',
  'updated_at',
] as const;
export type UpdateSortField = (typeof UPDATE_SORTS)[number];
export const UPDATE_SORT_DEFAULT = '-discovered_at';
export const UpdateSort = sortBy(
  UPDATE_SORTS,
  'default -discovered_at, newest first; severity: most severe first; exploited: known exploited first, then the most likely to be exploited, then the most severe, then the newest; urgency: what the update fixes, known exploited first, then the most severe, then the longest known; fixes that are not known come last',
);
export type UpdateSort = Static<typeof UpdateSort>;

export const PACKAGE_SORTS = ['name', 'hosts', 'updates', 'newest', 'severity', 'urgency'] as const;
export type PackageSortField = (typeof PACKAGE_SORTS)[number];
export const PACKAGE_SORT_DEFAULT = 'name';
export const PackageSort = sortBy(
  PACKAGE_SORTS,
  'default name; newest: by the latest discovered update; severity: most severe first; urgency: what its waiting ' +
    'updates fix, known exploited first, then the most severe; packages without a waiting update come last',
);
export type PackageSort = Static<typeof PackageSort>;

/** Which pending updates, grouped by their hosts. */
const { state: _, ...ofPending } = UpdateFilter.properties;
export const PendingFilter = strict(ofPending);
export type PendingFilter = Static<typeof PendingFilter>;

export const UPDATED_HOST_SORTS = ['urgency', 'updates', 'hostname'] as const;
export type UpdatedHostSortField = (typeof UPDATED_HOST_SORTS)[number];
export const UPDATED_HOST_SORT_DEFAULT = 'urgency';
export const UpdatedHostSort = sortBy(
  UPDATED_HOST_SORTS,
  'default urgency: how many of the updates fix something known to be exploited, then something critical, then ' +
    'something of high severity, then anything known; most first',
);
export type UpdatedHostSort = Static<typeof UpdatedHostSort>;

const TextOrNull = nullable(Type.String());
const TimeOrNull = nullable(Timestamp);

export const UpdateItem = strict({
  id: Uuid,
  agent_id: Uuid,
  hostname: Type.String(),
  ecosystem: Ecosystem,
  name: PackageName,
  arch: TextOrNull,
  current_version: Type.String(),
  available_version: Type.String(),
  origin: TextOrNull,
  security: Type.Boolean(),
  size_bytes: nullable(Count),
  /** npm and PyPI: why this version is offered; empty for the others, which offer one. */
  offers: Type.Array(Offer),
  /** npm and PyPI: how far it is from the installed version; null: not known, or another ecosystem. */
  change: nullable(Change),
  /** Whether lists show it while it waits; false: another version of the package is recommended. */
  recommended: Type.Boolean(),
  state: UpdateState,
  state_reason: TextOrNull,
  out_of_band: Type.Boolean(),
  verdict: nullable(VulnerabilityVerdict),
  /** The worst of what its packages have after it. */
  severity: TextOrNull,
  /** Whether something that it fixes, brings or keeps is known to be exploited (KEV); null: not known. Decides nothing. */
  known_exploited: nullable(Type.Boolean()),
  /** The likelihood that it will be (EPSS), the highest in the closure; null: not known. Decides nothing. */
  epss: nullable(Type.Number({ minimum: 0, maximum: 1 })),
  /** How many known vulnerabilities it introduces, how many stay, and how many it fixes; null: not known, never 0. */
  introduces: nullable(Count),
  stays: nullable(Count),
  fixes: nullable(Count),
  /** The worst severity of what it fixes, `unknown` if none of it is rated; null: it fixes nothing, or not known. */
  fixes_severity: TextOrNull,
  /** Whether something that it fixes is known to be exploited; null: it fixes nothing, or not known. */
  fixes_exploited: nullable(Type.Boolean()),
  has_plan: Type.Boolean(),
  /** How many other open updates of the host have this transaction as their plan; null: there is no plan. */
  siblings: nullable(Count),
  /** The approval that it undoes; null: it is no rollback. */
  rollback_of: nullable(Uuid),
  not_before: TimeOrNull,
  discovered_at: Timestamp,
  updated_at: Timestamp,
});
export type UpdateItem = Static<typeof UpdateItem>;

export const UpdatePlan = strict({
  id: Uuid,
  resolved_at: Timestamp,
  received_at: Timestamp,
  plan_sha256: Sha256Hex,
  actions: Type.Array(PlanAction),
});
export type UpdatePlan = Static<typeof UpdatePlan>;

export const UpdateHistoryEntry = strict({
  at: Timestamp,
  from_state: TextOrNull,
  to_state: Type.String(),
  reason: TextOrNull,
  actor: Type.String(),
});
export type UpdateHistoryEntry = Static<typeof UpdateHistoryEntry>;

/** Another update that the same transaction brings. */
export const Sibling = strict({
  id: Uuid,
  name: PackageName,
  arch: TextOrNull,
  current_version: Type.String(),
  available_version: Type.String(),
  state: UpdateState,
});
export type Sibling = Static<typeof Sibling>;

/** Most siblings that an update lists by name. */
export const SIBLINGS_MAX = 200;

export const UpdateDetail = strict({
  ...UpdateItem.properties,
  /** By name; the first of them if there are more. */
  listed_siblings: Type.Array(Sibling, { maxItems: SIBLINGS_MAX }),
  plan: nullable(UpdatePlan),
  /** Null while no plan is known. */
  way_back: nullable(WayBack),
  history: Type.Array(UpdateHistoryEntry),
  gate: Type.Unknown({ description: 'the current verdict of the gate' }),
});
export type UpdateDetail = Static<typeof UpdateDetail>;

/** The updates of one package over all hosts. */
export const PackageItem = strict({
  id: Type.String(),
  ecosystem: Ecosystem,
  name: PackageName,
  hosts: Count,
  updates: Count,
  available_versions: Count,
  newest_update_at: Timestamp,
  security: Type.Boolean(),
  /** The worst verdict of the judged updates; null: none is judged. */
  severity: TextOrNull,
  /** True where one of the updates is about what is known to be exploited; null: of none is it known. */
  known_exploited: nullable(Type.Boolean()),
  /** Whether one of its waiting updates fixes known vulnerabilities; null: not known of each, or none waits. */
  fixes: nullable(Type.Boolean()),
  /** Of the most urgent of its waiting updates; null: it fixes nothing, or that is not known. */
  fixes_severity: TextOrNull,
  fixes_exploited: nullable(Type.Boolean()),
  states: Type.Record(Type.String(), Count),
  /** Of all its updates that wait, whatever the filter. */
  held_updates: HeldBack,
});
export type PackageItem = Static<typeof PackageItem>;

/** A host with its pending updates, and what these fix. */
export const UpdatedHost = strict({
  agent_id: Uuid,
  hostname: Type.String(),
  group: nullable(GroupName),
  reboot: RestartNeed,
  updates: Count,
  /** How many of them fix something known to be exploited, something critical, something of high severity, anything known. */
  exploited_fixes: Count,
  critical_fixes: Count,
  high_fixes: Count,
  fixes: Count,
  /** Of so many it is not known what they fix. */
  unjudged: Count,
});
export type UpdatedHost = Static<typeof UpdatedHost>;
