import { type Static, Type } from 'typebox';
import { strict, Timestamp } from './scalars.ts';

/** Distributions fetch package lists daily or oftener; one missed day is tolerated. */
export const LISTS_MAX_AGE_MS = 48 * 3_600_000;
/** A difference of clocks that the longest way of a request does not explain. */
export const CLOCK_DOUBT_MS = 30_000;

/** What is known of a host's lists: the oldest are older than `LISTS_MAX_AGE_MS`, or they are not. */
export const ListsState = Type.Enum(['stale', 'current', 'unknown']);
export type ListsState = Static<typeof ListsState>;
/** Whether a host's clock is further than `CLOCK_DOUBT_MS` from the server's. */
export const ClockState = Type.Enum(['wrong', 'right', 'unknown']);
export type ClockState = Static<typeof ClockState>;

/** Largest body of a report, in bytes. */
export const TIMELINESS_MAX_BYTES = 1_024;
/** Ten years: an agent reports older lists as this old. */
export const LISTS_AGE_MAX_SECONDS = 315_360_000;

const ListAge = Type.Optional(
  Type.Integer({ minimum: 0, maximum: LISTS_AGE_MAX_SECONDS, description: 'age in seconds' }),
);

/** Seconds since the lists were last confirmed as current, where it is known: a wrong clock does not matter to it. */
export const ListAges = strict({
  npm: ListAge,
  pypi: ListAge,
  apt: ListAge,
  dnf: ListAge,
  tidegate: ListAge,
});
export type ListAges = Static<typeof ListAges>;

/** How old a host's package lists were at its last scan, and what its clock shows. */
export const TimelinessReport = strict({
  /** When the request was sent. */
  clock: Timestamp,
  lists: ListAges,
});
export type TimelinessReport = Static<typeof TimelinessReport>;
