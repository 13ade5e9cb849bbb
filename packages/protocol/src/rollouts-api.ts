import { type Static, Type } from 'typebox';
import { RingMembers, Unrepresented } from './rings.ts';
import { RollbackAnswer } from './rollbacks.ts';
import { Count, Ecosystem, nullable, Sha256Hex, strict, Timestamp, Uuid, writtenText } from './scalars.ts';

/** Packages that one rollout carries; what is left waits for the next. */
export const ROLLOUT_PACKAGES_MAX = 5_000;
/** Packages that an answer about a rollout names. */
export const ROLLOUT_PACKAGES_SHOWN = 200;
/** Hosts that the event of a halt names. */
export const HALT_HOSTS_NAMED = 100;

/**
 * What became of a host in a rollout, each counted apart.
 * `waiting`: not delivered yet. `offline`: the same, and the host does not check in; it counts neither way. `running`:
 * delivered, and no report yet. `silent`: the same, and past its deadline: it counts as failed.
 * `refused`: by the host's policy, or because its packages changed meanwhile; it counts neither way.
 * `unfit`: its probes were red before: neither released nor blamed. `probe_failed`: they turned red: it counts as failed.
 * `not_offered`: it does not offer any of these versions any more.
 */
export const HOST_OUTCOMES = [
  'waiting',
  'offline',
  'running',
  'installed',
  'failed',
  'probe_failed',
  'silent',
  'refused',
  'unfit',
  'not_offered',
] as const;
export const HostOutcome = Type.Enum(HOST_OUTCOMES);
export type HostOutcome = Static<typeof HostOutcome>;

export const OutcomeCounts = strict({
  waiting: Count,
  offline: Count,
  running: Count,
  installed: Count,
  failed: Count,
  probe_failed: Count,
  silent: Count,
  refused: Count,
  unfit: Count,
  not_offered: Count,
});
export type OutcomeCounts = Static<typeof OutcomeCounts>;

export const ROLLOUT_STATES = ['running', 'halted', 'finished', 'cancelled'] as const;
export const RolloutState = Type.Enum(ROLLOUT_STATES);
export type RolloutState = Static<typeof RolloutState>;

const head = {
  id: Uuid,
  policy_id: Uuid,
  /** The version of the policy under which it began; its rings are those of the rollout. */
  policy_sha256: Sha256Hex,
  policy_name: Type.String(),
  /** `emergency`: soak times are skipped, and rings without a host to update are passed soon. */
  lane: Type.Enum(['wave', 'emergency']),
  state: RolloutState,
  /** The ring that was entered last, counted from 0. */
  ring: Count,
  ring_name: Type.String(),
  rings: Count,
  started_at: Timestamp,
  ring_entered_at: Timestamp,
  ended_at: nullable(Timestamp),
  /** One sentence: what it waits for, or how it ended. */
  waits_for: Type.String(),
  packages: Count,
  hosts: Count,
  outcomes: OutcomeCounts,
};

/** A rollout as the list has it: one wave of versions through the rings of a policy. */
export const RolloutItem = strict(head);
export type RolloutItem = Static<typeof RolloutItem>;

/** One line of the checklist of a ring's gate. */
export const GateCondition = strict({
  kind: Type.Enum(['success_count', 'success_rate', 'soak', 'probes', 'divergences', 'approval']),
  met: Type.Boolean(),
  /** `success_count`, `soak`, `probes`: hosts. `success_rate`: percent. `divergences`: open ones. `approval`: 0 or 1. */
  has: Count,
  /** At least so many; `divergences`: at most. */
  wants: Count,
  /** The same as a sentence. */
  text: Type.String(),
});
export type GateCondition = Static<typeof GateCondition>;

/** A lane of the board. */
export const RolloutRing = strict({
  ring: Count,
  name: Type.String(),
  members: RingMembers,
  state: Type.Enum(['ahead', 'current', 'passed']),
  entered_at: nullable(Timestamp),
  hosts: Count,
  /** Hosts that joined after the rollout had begun; the last ring has them. */
  late: Count,
  /** Failed hosts that do not count any more, because a person resumed the rollout. */
  excused: Count,
  outcomes: OutcomeCounts,
  /** Of the gate to the next ring; empty for the last ring. */
  conditions: Type.Array(GateCondition),
});
export type RolloutRing = Static<typeof RolloutRing>;

export const RolloutDetail = strict({
  ...head,
  lanes: Type.Array(RolloutRing),
  /** Why it stands still; null unless halted. `by`: an operator, or `server`. */
  halt: nullable(strict({ at: Timestamp, by: Type.String(), reason: Type.String() })),
  /** The first packages by name, with how many hosts offered each version when the rollout began. */
  package_list: Type.Array(
    strict({ ecosystem: Ecosystem, name: Type.String(), version: Type.String(), hosts: Count }),
  ),
  /** The largest first. */
  unrepresented: Type.Array(Unrepresented),
  /** Whether the policy is still in force in the version under which the rollout began. */
  in_force: Type.Boolean(),
});
export type RolloutDetail = Static<typeof RolloutDetail>;

/** Filters of the hosts of a rollout. */
export const RolloutHostFilter = {
  /** Counted from 0; a query has texts. */
  ring: Type.Optional(Type.String({ pattern: '^[0-9]{1,2}$' })),
  outcome: Type.Optional(HostOutcome),
};

export const RolloutHost = strict({
  agent_id: Uuid,
  hostname: Type.String(),
  ring: Count,
  late: Type.Boolean(),
  outcome: HostOutcome,
  excused: Type.Boolean(),
  /** As the host reported it, or why it waits. */
  reason: nullable(Type.String()),
  delivered_at: nullable(Timestamp),
  /** When it got its outcome; null while it has none that stays. */
  settled_at: nullable(Timestamp),
});
export type RolloutHost = Static<typeof RolloutHost>;

/** Body of halt, resume, cancel and emergency. */
export const RolloutReason = strict({ reason: writtenText(1_000) });
export type RolloutReason = Static<typeof RolloutReason>;

/** Approves the gate of a ring; `ring` is the one that the person has looked at. */
export const RingApproval = strict({ ring: Type.Integer({ minimum: 0, maximum: 99 }) });
export type RingApproval = Static<typeof RingApproval>;

/** Undoes what a rollout has installed on the hosts of one ring, as far as `ROLLBACKS_MAX` updates go in one request. */
export const RingRollback = strict({
  ring: Type.Integer({ minimum: 0, maximum: 99 }),
  /** Required unless it is a dry run. */
  reason: Type.Optional(writtenText(1_000)),
  /** Answers what would be undone, and does nothing. */
  dry_run: Type.Optional(Type.Boolean()),
  /** `next` of the answer before. */
  after: Type.Optional(Uuid),
});
export type RingRollback = Static<typeof RingRollback>;

export const RingRollbackAnswer = strict({
  ...RollbackAnswer.properties,
  /** Where the next request goes on; null: that was all. */
  next: nullable(Uuid),
});
export type RingRollbackAnswer = Static<typeof RingRollbackAnswer>;
