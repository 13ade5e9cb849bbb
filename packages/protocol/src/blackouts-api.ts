import { type Static, Type } from 'typebox';
import { PolicyScope } from './policies-api.ts';
import { nullable, strict, Timestamp, Uuid, visibleText, writtenText } from './scalars.ts';
import { Schedule } from './windows-api.ts';

/** Blackouts that have not ended, at one time. */
export const BLACKOUTS_MAX = 200;
/** Longest blackout between two times, in days. */
export const BLACKOUT_MAX_DAYS = 366;
/** Occurrences of a blackout that an answer names. */
export const NEXT_BLACKOUTS_SHOWN = 5;

/** When nothing may be changed: once between two times, or again and again. */
export const BlackoutTimes = Type.Union([
  strict({ kind: Type.Literal('once'), starts_at: Timestamp, ends_at: Timestamp }),
  strict({ kind: Type.Literal('recurring'), schedule: Schedule }),
]);
export type BlackoutTimes = Static<typeof BlackoutTimes>;

/**
 * A time in which the hosts of a scope are given no command that changes them, whoever approved it. They are still
 * scanned, planned and judged, and their updates can be approved.
 */
export const BlackoutRequest = strict({
  name: visibleText(128),
  reason: writtenText(1_000),
  scope: PolicyScope,
  times: BlackoutTimes,
});
export type BlackoutRequest = Static<typeof BlackoutRequest>;

/** Why a blackout is ended before its time. */
export const BlackoutEnd = strict({ reason: writtenText(1_000) });
export type BlackoutEnd = Static<typeof BlackoutEnd>;

const Occurrence = strict({ starts_at: Timestamp, ends_at: Timestamp });

export const Blackout = strict({
  id: Uuid,
  ...BlackoutRequest.properties,
  /** `over`: it has no occurrence any more; `ended`: somebody ended it. */
  state: Type.Enum(['active', 'upcoming', 'over', 'ended']),
  /** The occurrence that withholds now. It begins five minutes early, for hosts whose clock is late. */
  active: nullable(Occurrence),
  /** The next ones, in order. */
  next: Type.Array(Occurrence),
  created_by: Type.String(),
  created_at: Timestamp,
  ended_by: nullable(Type.String()),
  ended_at: nullable(Timestamp),
  end_reason: nullable(Type.String()),
});
export type Blackout = Static<typeof Blackout>;
