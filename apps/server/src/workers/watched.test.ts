import { createClock } from '@tidegate/testkit/clock';
import { expect, test } from 'vitest';
import { createWatched, WATCHED_MAX, WATCHED_MS } from './watched.ts';

test('an agent is left to the server for an hour, and longer where it is named again', () => {
  const clock = createClock(Date.UTC(2026, 10, 29));
  const watched = createWatched(clock.now);
  expect(watched.has('a')).toBe(false);
  watched.add(['a', 'b']);
  clock.advance(WATCHED_MS - 1);
  expect([watched.has('a'), watched.has('b'), watched.has('c')]).toEqual([true, true, false]);
  watched.add(['a']);
  clock.advance(1);
  expect([watched.has('a'), watched.has('b')]).toEqual([true, false]);
});

test('past their bound those named first are dropped', () => {
  const watched = createWatched(() => 0);
  watched.add(Array.from({ length: WATCHED_MAX }, (_, n) => `${n}`));
  watched.add(['0', 'new']);
  expect([watched.has('0'), watched.has('1'), watched.has('2'), watched.has('new')]).toEqual([
    true,
    false,
    true,
    true,
  ]);
});
