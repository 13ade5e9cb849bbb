import { type Static, Type } from 'typebox';
import { strict } from './scalars.ts';

/** Longest name of a FleetLock client, in characters. */
export const FLEET_LOCK_ID_MAX_CHARS = 128;

/** A group as FleetLock writes it. A group of another form cannot be shared with its clients. */
export const FleetLockGroup = Type.String({ pattern: '^[a-zA-Z0-9.-]{1,128}$' });

/** The body of both calls. */
export const FleetLockRequest = strict({
  client_params: strict({
    /** How the client calls itself, such as a hash of its machine id. Compared exactly. */
    id: Type.String({ pattern: `^[\\x21-\\x7e]{1,${FLEET_LOCK_ID_MAX_CHARS}}$` }),
    group: FleetLockGroup,
  }),
});
export type FleetLockRequest = Static<typeof FleetLockRequest>;

/** How both calls refuse: a kind of a small set, for metrics, and a sentence for the log of the client. */
export const FleetLockError = strict({
  kind: Type.String({ minLength: 1 }),
  value: Type.String({ minLength: 1 }),
});
export type FleetLockError = Static<typeof FleetLockError>;

/** Why a slot is not given or not taken back, beside the codes of problems. */
export const FLEET_LOCK_KINDS = [
  'wrong_group',
  'no_free_slot',
  'group_halted',
  'too_few_healthy',
  'blackout',
  'slot_failed',
] as const;
export type FleetLockKind = (typeof FLEET_LOCK_KINDS)[number];
