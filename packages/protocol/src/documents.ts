import { type Static, Type } from 'typebox';
import { PLAN_MAX_ACTIONS, PlanAction } from './plan.ts';
import { RebootOrder, RestartOrder } from './reboots.ts';
import { Repair } from './repairs.ts';
import { ROLLBACK_MAX_ACTIONS, RollbackAction } from './rollbacks.ts';
import { ROOTS_MAX } from './root-document.ts';
import {
  ECOSYSTEMS,
  Ecosystem,
  nullable,
  Ordinal,
  PackageName,
  PackageVersion,
  PublicKeyHex,
  Sha256Hex,
  ShortText,
  strict,
  Timestamp,
  Uuid,
} from './scalars.ts';
import { type CommandAction, UncheckedReason, VulnerabilityVerdict } from './states.ts';

/** One payload type per meaning: the type is part of what is signed (DSSE v1). */
export const COMMAND_TYPE = 'application/vnd.tidegate.command.v1+json';
export const APPROVAL_TYPE = 'application/vnd.tidegate.approval.v1+json';
export const KEYSET_TYPE = 'application/vnd.tidegate.keyset.v1+json';
export const STATE_TYPE = 'application/vnd.tidegate.state.v1+json';
export const AGENT_STATE_TYPE = 'application/vnd.tidegate.agent-state.v1+json';
export const CHECKPOINT_TYPE = 'application/vnd.tidegate.checkpoint.v1+json';
export const ANCHOR_TYPE = 'application/vnd.tidegate.anchor.v1+json';

/** Largest command envelope that an agent reads, in bytes. */
export const COMMAND_MAX_BYTES = 512 * 1024;
/** Most updates that one approval names. */
export const APPROVAL_MAX_UPDATES = 2_000;
/** Largest approval envelope, in bytes. */
export const APPROVAL_MAX_BYTES = 4 * 1024 * 1024;

/** A DSSE v1 envelope on the wire; its content is trusted only after verification. */
export const Envelope = strict({
  payloadType: Type.String({ minLength: 1, maxLength: 128 }),
  payload: Type.String({ minLength: 1, maxLength: 6 * 1024 * 1024 }),
  signatures: Type.Array(
    strict({ keyid: Type.String({ maxLength: 128 }), sig: Type.String({ minLength: 1, maxLength: 256 }) }),
    { minItems: 1, maxItems: 16 },
  ),
});
export type Envelope = Static<typeof Envelope>;

export const SigningKeyEntry = strict({
  key_id: Uuid,
  version: Ordinal,
  public_key_hex: PublicKeyHex,
  status: Type.Enum(['active', 'revoked']),
  created_at: Timestamp,
  revoked_at: nullable(Timestamp),
});
export type SigningKeyEntry = Static<typeof SigningKeyEntry>;

/** `root_version` and `root_sha256` name the root document in force, both or neither; there is none without a root. */
export const KeySetPayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  version: Ordinal,
  issued_at: Timestamp,
  expires_at: Timestamp,
  keys: Type.Array(SigningKeyEntry, { minItems: 1, maxItems: 256 }),
  root_version: Type.Optional(Ordinal),
  root_sha256: Type.Optional(Sha256Hex),
});
export type KeySetPayload = Static<typeof KeySetPayload>;

/** How far the chain of events goes: the position of its newest event, counted from 1, and that event's hash. */
export const EventsHead = strict({ position: Ordinal, hash: Sha256Hex });
export type EventsHead = Static<typeof EventsHead>;

export const StatePayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  server_time: Timestamp,
  epoch: Ordinal,
  key_set_version: Ordinal,
  events_head: nullable(EventsHead),
});
export type StatePayload = Static<typeof StatePayload>;

/** Most revoked tokens that an agent's state lists: those of all updates of a large host. */
export const REVOKED_TOKENS_MAX = 2_000;

/**
 * The state of the fleet for one agent that is about to install, signed for each request: which of its approvals were
 * taken back. `revoked_tokens` has the delivered ones that could still be used, the last issued first, and likewise the
 * ids of repairs, reboots and restarts of services that were cancelled after they were delivered. Where there are more
 * than `REVOKED_TOKENS_MAX`, `approvals_after` is set: none of them that was issued at or before that time counts.
 */
export const AgentStatePayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  agent_id: Uuid,
  server_time: Timestamp,
  epoch: Ordinal,
  key_set_version: Ordinal,
  revoked_tokens: Type.Array(Uuid, { maxItems: REVOKED_TOKENS_MAX }),
  approvals_after: nullable(Timestamp),
});
export type AgentStatePayload = Static<typeof AgentStatePayload>;

/** A head of the chain of events that the server signed for those who verify the chain, now and in years. */
export const CheckpointPayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  epoch: Ordinal,
  ...EventsHead.properties,
  created_at: Timestamp,
});
export type CheckpointPayload = Static<typeof CheckpointPayload>;

/** States that the events up to a position were removed, by whom, and what the log was then; the log begins after it. */
export const AnchorPayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  epoch: Ordinal,
  ...EventsHead.properties,
  first_position: Ordinal,
  first_at: Timestamp,
  last_at: Timestamp,
  head: EventsHead,
  previous_sha256: nullable(Sha256Hex),
  removed_by: ShortText,
  retention_days: nullable(Ordinal),
  created_at: Timestamp,
});
export type AnchorPayload = Static<typeof AnchorPayload>;

export const ApprovalReference = strict({ token_id: Uuid, sha256: Sha256Hex });
export type ApprovalReference = Static<typeof ApprovalReference>;

const commandHead = {
  v: Type.Literal(1),
  fleet_id: Uuid,
  epoch: Ordinal,
  seq: Ordinal,
  command_id: Uuid,
  agent_id: Uuid,
  machine_sha256: Sha256Hex,
  issued_at: Timestamp,
  not_before: Timestamp,
  expires_at: Timestamp,
  key_id: Uuid,
  key_version: Ordinal,
};

/** Ids of updates in ascending order, so that a set has one form. */
const UpdateIds = Type.Array(Uuid, { minItems: 1, maxItems: APPROVAL_MAX_UPDATES });

/** An update to plan, in a set that is planned as one transaction. */
export const PlannedUpdate = strict({
  update_id: Uuid,
  name: PackageName,
  arch: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  to_version: PackageVersion,
});
export type PlannedUpdate = Static<typeof PlannedUpdate>;

/** Parameters of each action; an action without an entry takes none. */
export const COMMAND_PARAMS = {
  scan: strict({ ecosystems: Type.Optional(Type.Array(Ecosystem, { maxItems: ECOSYSTEMS.length })) }),
  plan_update: strict({
    ecosystem: Ecosystem,
    updates: Type.Array(PlannedUpdate, { minItems: 1, maxItems: APPROVAL_MAX_UPDATES }),
    /** Undo an installation: the plan has these actions and no others, without those that are done. */
    undo: Type.Optional(Type.Array(RollbackAction, { minItems: 1, maxItems: ROLLBACK_MAX_ACTIONS })),
  }),
  install_update: strict({ update_ids: UpdateIds }),
  repair: Repair,
  reboot: RebootOrder,
  restart_services: RestartOrder,
  update_agent: strict({ update_id: Type.Optional(Uuid) }),
  refresh_keys: strict({}),
  set_polling: strict({ interval_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }) }),
  run_probes: strict({}),
} as const;

function commandOf<A extends CommandAction>(action: A) {
  return strict({
    ...commandHead,
    action: Type.Literal(action),
    params: COMMAND_PARAMS[action],
    approval: Type.Optional(ApprovalReference),
    crit: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 }),
  });
}

/** A signed command (docs/protocol/documents.md); the parameters belong to the action. */
export const CommandPayload = Type.Union([
  commandOf('scan'),
  commandOf('plan_update'),
  commandOf('install_update'),
  commandOf('repair'),
  commandOf('reboot'),
  commandOf('restart_services'),
  commandOf('update_agent'),
  commandOf('refresh_keys'),
  commandOf('set_polling'),
  commandOf('run_probes'),
]);
export type CommandPayload = Static<typeof CommandPayload>;

export const ApprovalOverride = strict({
  by: Type.String({ minLength: 1, maxLength: 128 }),
  reason_sha256: Sha256Hex,
  event_id: Uuid,
});

/** An update that an approval brings to a version; `arch` is the place of an npm or PyPI package. */
export const ApprovedUpdate = strict({
  update_id: Uuid,
  name: PackageName,
  arch: Type.Optional(ShortText),
  from_version: nullable(PackageVersion),
  to_version: PackageVersion,
});
export type ApprovedUpdate = Static<typeof ApprovedUpdate>;

/**
 * The signed token of E3: binds the real artifact hashes (A4). No field of it means "skip verification". It names a set
 * of updates of one host and ecosystem, in ascending order of id; `actions` is the one transaction that brings them all.
 */
export const ApprovalPayload = strict({
  v: Type.Literal(1),
  token_id: Uuid,
  fleet_id: Uuid,
  agent_id: Uuid,
  ecosystem: Ecosystem,
  updates: Type.Array(ApprovedUpdate, { minItems: 1, maxItems: APPROVAL_MAX_UPDATES }),
  actions: Type.Array(PlanAction, { minItems: 1, maxItems: PLAN_MAX_ACTIONS }),
  plan_sha256: Sha256Hex,
  verdict: strict({
    vulnerability: VulnerabilityVerdict,
    /** Why some packages were not checked, also beside `vulnerable`; absent if all were. */
    unchecked: Type.Optional(UncheckedReason),
    age: Type.Enum(['ok', 'violation', 'unknown_age', 'not_applicable', 'off']),
    checked_at: nullable(Timestamp),
    source: nullable(Type.String({ maxLength: 128 })),
    snapshot: nullable(Type.String({ maxLength: 256 })),
    /** Operators' statements that excused a vulnerability; absent if none did. */
    statements: Type.Optional(
      Type.Array(strict({ id: Uuid, sha256: Sha256Hex }), { minItems: 1, maxItems: 100 }),
    ),
    /** Registered origins that let packages pass which no database covers; absent if none did. */
    origins: Type.Optional(
      Type.Array(strict({ id: Uuid, sha256: Sha256Hex }), { minItems: 1, maxItems: 100 }),
    ),
  }),
  override: nullable(ApprovalOverride),
  /** The standing approval by which the server approved in its author's name; absent where a person did. */
  policy: Type.Optional(strict({ policy_id: Uuid, sha256: Sha256Hex })),
  issued_at: Timestamp,
  expires_at: Timestamp,
});
export type ApprovalPayload = Static<typeof ApprovalPayload>;

export const ServerKey = strict({
  key_id: Uuid,
  version: Ordinal,
  public_key_hex: PublicKeyHex,
  status: Type.Literal('active'),
  created_at: Timestamp,
});
export type ServerKey = Static<typeof ServerKey>;

/** Most key sets that a host walks at once: decades of renewals and rotations. */
export const KEY_CHAIN_MAX = 512;
/** Most key sets in one answer of E8. */
export const KEY_SETS_PAGE = 16;

/**
 * E8: active keys, newest first, with the signed key set that vouches for them. With `since` (the version the
 * caller holds) the answer includes the later sets, oldest first, and the root documents after `root_since`.
 */
export const PublicKeysAnswer = strict({
  keys: Type.Array(ServerKey),
  key_set: Envelope,
  key_sets: Type.Optional(Type.Array(Envelope, { maxItems: KEY_SETS_PAGE })),
  roots: Type.Optional(Type.Array(Envelope, { maxItems: ROOTS_MAX })),
});
export type PublicKeysAnswer = Static<typeof PublicKeysAnswer>;
