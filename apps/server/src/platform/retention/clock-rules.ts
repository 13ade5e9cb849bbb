import type { RetentionClockRow } from './store.ts';

/** How often the server looks at its clock, in milliseconds. */
export const LOOK_MS = 600_000;
const DAY_MS = 86_400_000;
/** A difference that is believed at once, in milliseconds: a server may be off for a weekend's day or two. */
export const JUMP_MS = 2 * DAY_MS;
/** How long a clock that jumped has to go on in step before it is believed, in milliseconds. */
export const STOOD_MS = 7 * DAY_MS;

/** Whether the clock said last what is not believed. */
export function isDoubted({ believed_at, read_at }: RetentionClockRow): boolean {
  return Math.abs(read_at - believed_at) > JUMP_MS;
}

/**
 * What is believed after a look at the clock. A small difference from the last time is; a larger one, in either direction, once
 * the clock has gone on in step for a week of looks. Looks are made by a timer, so that no clock can make the week shorter.
 */
export function lookAtClock(before: RetentionClockRow | null, nowMs: number): RetentionClockRow {
  const believed = { believed_at: nowMs, read_at: nowMs, stood_ms: 0 };
  if (!before || !isDoubted({ ...before, read_at: nowMs })) return believed;
  const sinceMs = nowMs - before.read_at;
  // Another jump begins the week anew; a short stop of the server does not, and does not count.
  const isJump = sinceMs < 0 || sinceMs > JUMP_MS || !isDoubted(before);
  const stood_ms = isJump ? 0 : before.stood_ms + (sinceMs <= 2 * LOOK_MS ? Math.min(sinceMs, LOOK_MS) : 0);
  if (stood_ms >= STOOD_MS) return believed;
  return { believed_at: before.believed_at, read_at: nowMs, stood_ms };
}
