import { type Static, Type } from 'typebox';
import { NamePattern, PolicyScope } from './policies-api.ts';
import { Count, ECOSYSTEMS, Ecosystem, nullable, strict, Timestamp, Uuid, writtenText } from './scalars.ts';

/** Holds in force at one time. */
export const HOLDS_MAX = 500;
/** Longest life of a hold, in days. */
export const HOLD_MAX_DAYS = 365;

/** Packages that stay as they are on the hosts of a scope, until a time: nothing that would change one is approved. */
export const HoldRequest = strict({
  ecosystems: Type.Array(Ecosystem, { minItems: 1, maxItems: ECOSYSTEMS.length, uniqueItems: true }),
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

/** What holds keep back of the updates that wait, by the names of their packages. */
export const HeldBack = strict({
  updates: Count,
  /** Those that fix vulnerabilities, as their origin says. */
  security_updates: Count,
  /** When the first and the last of these holds end; null: nothing is kept back. */
  first_end: nullable(Timestamp),
  last_end: nullable(Timestamp),
});
export type HeldBack = Static<typeof HeldBack>;
export const NOTHING_HELD: HeldBack = { updates: 0, security_updates: 0, first_end: null, last_end: null };

/** Packages of a host's own holds that an answer names. */
export const OWN_HOLDS_SHOWN = 50;

/** What keeps a host as it is: holds, those of its own package managers, and a blackout. */
export const HostWithheld = strict({
  as_of: Timestamp,
  /** Updates that wait for an approval, with those that are kept back. */
  pending: Count,
  /** The same with updates that are approved, under way or failed: what is not done. */
  open: Count,
  /** Packages that the host reported; null: it has not reported any, so nothing is known. */
  installed: nullable(Count),
  held: HeldBack,
  /** Those that keep something back, the one that ends first before the others. */
  holds: Type.Array(
    strict({
      id: Uuid,
      packages: HoldRequest.properties.packages,
      reason: Type.String(),
      ends_at: Timestamp,
      updates: Count,
      security_updates: Count,
    }),
    { maxItems: HOLDS_MAX },
  ),
  /** Packages that the host's package managers keep as they are (`apt-mark hold`, `versionlock`), by name. */
  own_holds: strict({
    total: Count,
    packages: Type.Array(strict({ ecosystem: Ecosystem, name: Type.String(), version: Type.String() }), {
      maxItems: OWN_HOLDS_SHOWN,
    }),
  }),
  /** The blackout that withholds commands from the host now; `until`: when it is in none any more. */
  blackout: nullable(strict({ id: Uuid, name: Type.String(), until: Timestamp })),
});
export type HostWithheld = Static<typeof HostWithheld>;
