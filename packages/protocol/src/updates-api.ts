import { type Static, Type } from 'typebox';
import { PlanAction } from './plan.ts';
import { Count, Ecosystem, PackageName, Sha256Hex, strict, Timestamp, Uuid } from './scalars.ts';
import { UpdateState, VulnerabilityVerdict } from './states.ts';

/** Severities of advisories, as the badge of an update shows them. */
export const ADVISORY_SEVERITIES = ['none', 'low', 'medium', 'high', 'critical', 'unknown'] as const;

/** Which updates: the same object in query parameters, bulk requests (E4) and saved views. */
export const UpdateFilter = strict({
  state: Type.Optional(UpdateState),
  ecosystem: Type.Optional(Ecosystem),
  name: Type.Optional(PackageName),
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'part of the package name' })),
  agent_id: Type.Optional(Uuid),
  group: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  severity: Type.Optional(Type.Enum(ADVISORY_SEVERITIES)),
  verdict: Type.Optional(VulnerabilityVerdict),
  security: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false'), Type.Boolean()])),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
});
export type UpdateFilter = Static<typeof UpdateFilter>;

const TextOrNull = Type.Union([Type.String(), Type.Null()]);
const TimeOrNull = Type.Union([Timestamp, Type.Null()]);

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
  size_bytes: Type.Union([Count, Type.Null()]),
  state: UpdateState,
  state_reason: TextOrNull,
  out_of_band: Type.Boolean(),
  verdict: Type.Union([VulnerabilityVerdict, Type.Null()]),
  severity: TextOrNull,
  has_plan: Type.Boolean(),
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

export const UpdateDetail = strict({
  ...UpdateItem.properties,
  plan: Type.Union([UpdatePlan, Type.Null()]),
  history: Type.Array(UpdateHistoryEntry),
  gate: Type.Unknown({ description: 'the verdict of the gate at this moment' }),
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
  states: Type.Record(Type.String(), Count),
});
export type PackageItem = Static<typeof PackageItem>;
