import { expect, test } from 'vitest';
import { isDoubted, JUMP_MS, LOOK_MS, lookAtClock, STOOD_MS } from './clock-rules.ts';
import type { RetentionClockRow } from './store.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 30, 9);
const YEAR_MS = 365 * DAY_MS;
const believed = (atMs: number): RetentionClockRow => ({ believed_at: atMs, read_at: atMs, stood_ms: 0 });
/** Looks every ten minutes, beginning now. */
const looks = (row: RetentionClockRow, { fromMs, count }: { fromMs: number; count: number }) => {
  let last = row;
  for (let i = 0; i < count; i += 1) last = lookAtClock(last, fromMs + i * LOOK_MS);
  return last;
};
const A_WEEK = STOOD_MS / LOOK_MS;

test.each<[string, number, boolean]>([
  ['the next look', LOOK_MS, true],
  ['a stop of two days', JUMP_MS, true],
  ['a jump', JUMP_MS + 1, false],
  ['a small step back', -JUMP_MS, true],
  ['a jump back', -JUMP_MS - 1, false],
])('%s is believed or not', (_, laterMs, isBelieved) => {
  const row = lookAtClock(believed(NOW), NOW + laterMs);
  expect([row.believed_at, isDoubted(row)]).toEqual(isBelieved ? [NOW + laterMs, false] : [NOW, true]);
});

test('the first look of a database without a past is believed', () => {
  expect(lookAtClock(null, NOW)).toEqual(believed(NOW));
});

test.each([YEAR_MS, 14 * YEAR_MS, -56 * YEAR_MS])('a jump of %i ms is believed after a week', (jumpMs) => {
  const fromMs = NOW + jumpMs;
  const almost = looks(believed(NOW), { fromMs, count: A_WEEK });
  expect([almost.believed_at, isDoubted(almost)]).toEqual([NOW, true]);
  const after = lookAtClock(almost, fromMs + A_WEEK * LOOK_MS);
  expect(after).toEqual(believed(fromMs + STOOD_MS));
});

test('a clock that jumps on is believed after a week without a jump, one that was mended at once', () => {
  const doubted = looks(believed(NOW), { fromMs: NOW + YEAR_MS, count: A_WEEK });
  expect(lookAtClock(doubted, NOW + 3 * YEAR_MS)).toMatchObject({ believed_at: NOW, stood_ms: 0 });
  expect(lookAtClock(doubted, doubted.read_at - 1)).toMatchObject({ believed_at: NOW, stood_ms: 0 });
  expect(lookAtClock(doubted, NOW + LOOK_MS)).toEqual(believed(NOW + LOOK_MS));
});

test('a stop of the server does not count to the week, and does not begin it anew', () => {
  const fromMs = NOW + YEAR_MS;
  const half = looks(believed(NOW), { fromMs, count: A_WEEK / 2 });
  const stopped = lookAtClock(half, half.read_at + DAY_MS);
  expect(stopped.stood_ms).toBe(half.stood_ms);
  const almost = looks(stopped, { fromMs: stopped.read_at + LOOK_MS, count: A_WEEK / 2 });
  expect(isDoubted(almost)).toBe(true);
  expect(lookAtClock(almost, almost.read_at + LOOK_MS).stood_ms).toBe(0);
});

test('no clock makes the week shorter by running fast', () => {
  let row = lookAtClock(believed(NOW), NOW + YEAR_MS);
  for (let i = 1; i < A_WEEK; i += 1) row = lookAtClock(row, row.read_at + 2 * LOOK_MS);
  expect(isDoubted(row)).toBe(true);
});
