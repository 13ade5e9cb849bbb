import { type Static, Type } from 'typebox';
import { NamePattern, PolicyScope } from './policies-api.ts';
import { Count, Ecosystem, nullable, strict, Timestamp, Uuid, writtenText } from './scalars.ts';

/** Holds in force at one time. */
export const HOLDS_MAX = 500;
/** Longest life of a hold, in days. */
export const HOLD_MAX_DAYS = 365;

/** Packages that stay as they are on the hosts of a scope, until a time: nothing that would change one is approved. */
export const HoldRequest = strict({
  ecosystems: Type.Array(Ecosystem, { minItems: 1, maxItems: 4, uniqueItems: true }),
  packages: Type.Array(NamePattern, { minItems: 1, maxItems: 50, uniqueItems: true }),
  scope: PolicyScope,
  reason: writtenText(1_000),
  ends_at: Timestamp,
});
export type HoldRequest = Static<typeof HoldRequest>;

export const Hold = strict({
  id: Uuid,
  ...HoldRequest.properties,
  state: Type.Enum(['in_force', 'expired', 'released']),
  created_by: Type.String(),
  created_at: Timestamp,
  ended_by: nullable(Type.String()),
  ended_at: nullable(Timestamp),
});
export type Hold = Static<typeof Hold>;

/** What a hold keeps back now, of updates that wait; updates that would change a held package besides are not counted. */
const Held = strict({ updates: Count, security_updates: Count, hosts: Count });

export const HoldDetail = strict({
  ...Hold.properties,
  /** Null: the hold has ended. */
  held: nullable(Held),
});
export type HoldDetail = Static<typeof HoldDetail>;
