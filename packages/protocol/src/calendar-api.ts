import { type Static, Type } from 'typebox';
import { WINDOW_ACTIONS } from './policies-api.ts';
import { Count, nullable, strict, Timestamp, Uuid } from './scalars.ts';
import { Schedule } from './windows-api.ts';

/** Days of one answer: a month with the weeks that it begins and ends in, or two months. */
export const CALENDAR_MAX_DAYS = 62;
/** Entries of one answer, the earliest first. */
export const CALENDAR_ENTRIES_MAX = 2_000;
/** Days for which it is known what ran. */
export const CALENDAR_RUNS_DAYS = 100;

/** A day in the zone that was asked for: its length is 23 or 25 hours where the clocks change. */
const CalendarDay = strict({ date: Type.String(), starts_at: Timestamp, ends_at: Timestamp });
export type CalendarDay = Static<typeof CalendarDay>;

/**
 * What stands in a calendar:
 * - `window`: a window of a policy; `blackout`: an occurrence of a blackout
 * - `policy_ends`, `hold_ends`: a moment, so `ends_at` is `starts_at`
 * - `approvals_begin`: approvals whose delivery begins on that day; `approvals_expire`: those that no host has received
 *   and that expire on it. `starts_at` is the first of them, `ends_at` the last
 */
export const CALENDAR_KINDS = [
  'window',
  'blackout',
  'policy_ends',
  'hold_ends',
  'approvals_begin',
  'approvals_expire',
] as const;

const CalendarEntry = strict({
  kind: Type.Enum(CALENDAR_KINDS),
  /** Of the policy, the blackout or the hold; null for approvals. */
  id: nullable(Uuid),
  /** Of the policy or the blackout; the packages of a hold; empty for approvals. */
  name: Type.String(),
  starts_at: Timestamp,
  ends_at: Timestamp,
  /** Of the schedule; null where there is none. */
  zone: nullable(Schedule.properties.zone),
  /** Whether the policy, blackout or hold can still be changed. */
  live: Type.Boolean(),
  /** Of a window, what the policy does in it; else empty. */
  actions: Type.Array(Type.Enum(WINDOW_ACTIONS)),
  /** How many approvals; of a blackout that withholds now, how many commands it withholds. Null: does not apply. */
  count: nullable(Count),
});
export type CalendarEntry = Static<typeof CalendarEntry>;

/** What ran on one day: of a policy, or of what people approved. */
const CalendarRun = strict({
  date: Type.String(),
  /** Null: people approved it. */
  policy_id: nullable(Uuid),
  /** In its newest version. */
  policy_name: nullable(Type.String()),
  /** Updates that the policy approved, those that waited for a plan then among them; null for people. */
  approved: nullable(Count),
  /** Installations by how they ended; one installs all updates that one host got together. */
  installed: Count,
  failed: Count,
  refused: Count,
});
export type CalendarRun = Static<typeof CalendarRun>;

export const Calendar = strict({
  as_of: Timestamp,
  zone: Type.String(),
  days: Type.Array(CalendarDay),
  /** What overlaps these days, in order of the starts. */
  entries: Type.Array(CalendarEntry),
  /** Whether later entries were left out, because there are too many. */
  truncated: Type.Boolean(),
  /** Policies in force that have no window: they ask at any time. */
  always: Type.Array(strict({ id: Uuid, name: Type.String() })),
  ran: Type.Array(CalendarRun),
  /** Up to when `ran` is counted; null: nothing is counted yet. */
  ran_until: nullable(Timestamp),
});
export type Calendar = Static<typeof Calendar>;
