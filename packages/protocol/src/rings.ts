import { type Static, Type } from 'typebox';
import { Count, GroupName, nullable, strict, Uuid, visibleText } from './scalars.ts';
import { HostTag } from './tags-api.ts';

/** Rings of one policy. */
export const RINGS_MAX = 10;
/** Longest soak of a ring, in minutes. */
export const SOAK_MAX_MINUTES = 30 * 24 * 60;
/** Longest time until a host that received its updates has to report, in minutes. */
export const DEADLINE_MAX_MINUTES = 7 * 24 * 60;
/** Packages that a policy may name with their versions. */
export const CHOSEN_MAX = 500;
/** Longest wait of a policy for a package that no inner ring has installed, in days. */
export const UNPROVEN_WAIT_MAX_DAYS = 90;

/** Who is in a ring. The first ring that matches takes a host. */
export const RingMembers = Type.Union([
  strict({
    kind: Type.Literal('some'),
    groups: Type.Array(GroupName, { maxItems: 100, uniqueItems: true }),
    hosts: Type.Array(Uuid, { maxItems: 500, uniqueItems: true }),
    /** Tags that operators set; what hosts report of themselves is refused. */
    tags: Type.Optional(Type.Array(HostTag, { maxItems: 100, uniqueItems: true })),
  }),
  /** A stable share of the policy's hosts, by SHA-256 of the policy's and the host's id. */
  strict({ kind: Type.Literal('percent'), percent: Type.Integer({ minimum: 1, maximum: 99 }) }),
  /** All others, and hosts that join later: the last ring. */
  strict({ kind: Type.Literal('rest') }),
]);
export type RingMembers = Static<typeof RingMembers>;

/** What a ring has to show before the next one is entered. */
export const RingGate = strict({
  /** Hosts that have installed; one of one is 100 %, so a rate alone is not enough. */
  min_success_count: Type.Integer({ minimum: 1, maximum: 100_000 }),
  /** Of the hosts that received their updates. */
  min_success_rate_percent: Type.Integer({ minimum: 1, maximum: 100 }),
  /** A host counts from this time after its installation. */
  soak_minutes: Type.Integer({ minimum: 0, maximum: SOAK_MAX_MINUTES }),
  /** `green`: every host that counts has green probes; one without probes, or with unknown ones, is not green. */
  probes: Type.Enum(['none', 'green']),
  /** A person approves the next ring besides. */
  approval: Type.Boolean(),
});
export type RingGate = Static<typeof RingGate>;

/** How many hosts may fail before the rollout halts by itself. */
export const RingHalt = strict({
  /** Failed hosts with which it halts; null: no number. */
  failed_hosts: nullable(Type.Integer({ minimum: 1, maximum: 100_000 })),
  /**
   * Failed hosts in percent of those that may install, above which it halts; null: what the rate of the ring's gate
   * allows, for the last ring that of the ring before it, or nothing besides where `failed_hosts` is given.
   */
  failed_percent: nullable(Type.Integer({ minimum: 0, maximum: 99 })),
});
export type RingHalt = Static<typeof RingHalt>;

export const Ring = strict({
  name: visibleText(64),
  members: RingMembers,
  /** Null for the last ring, and only there. */
  gate: nullable(RingGate),
  /** Time from delivery until a host without a report counts as failed, in minutes. */
  deadline_minutes: Type.Integer({ minimum: 5, maximum: DEADLINE_MAX_MINUTES }),
  halt: RingHalt,
});
export type Ring = Static<typeof Ring>;

/** The order in which hosts get updates; none: all at once. */
export const Rings = Type.Array(Ring, { minItems: 2, maxItems: RINGS_MAX });
export type Rings = Static<typeof Rings>;

/** What becomes of a package that no host of an inner ring has installed: a person decides, or it waits. */
export const UnprovenRule = Type.Union([
  Type.Literal('ask'),
  strict({
    /** Days since the ring was entered. */
    wait_days: Type.Integer({ minimum: 1, maximum: UNPROVEN_WAIT_MAX_DAYS }),
  }),
]);
export type UnprovenRule = Static<typeof UnprovenRule>;

/** A system of which hosts are in outer rings and none is in the first: what it proves says nothing about them. */
export const Unrepresented = strict({
  os_id: nullable(Type.String()),
  os_version: nullable(Type.String()),
  arch: nullable(Type.String()),
  hosts: Count,
});
export type Unrepresented = Static<typeof Unrepresented>;

/** Rings of a policy with the active hosts of each, before anything runs. */
export const RingsPreview = strict({
  rings: Type.Array(strict({ name: Type.String(), hosts: Count })),
  /** The largest first. */
  unrepresented: Type.Array(Unrepresented),
});
export type RingsPreview = Static<typeof RingsPreview>;
