import { expect, test } from 'vitest';
import { createClock } from './clock.ts';

test('a clock stands still until it is advanced, also backwards', () => {
  const clock = createClock(1_000);
  expect(clock.now()).toBe(1_000);
  expect(clock.now()).toBe(1_000);
  clock.advance(250);
  expect(clock.now()).toBe(1_250);
  clock.advance(-500);
  expect(clock.now()).toBe(750);
});

test('a clock refuses a time that is no number and keeps the one it had', () => {
  expect(() => createClock(Number.NaN)).toThrow(RangeError);
  const clock = createClock(5);
  expect(() => clock.advance(Number.NaN)).toThrow(RangeError);
  expect(clock.now()).toBe(5);
});
