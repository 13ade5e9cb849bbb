import { createClock } from '@tidegate/testkit/clock';
import { expect, test } from 'vitest';
import { reuseCostlyAnswer } from './reuse-costly-answer.ts';

const START_MS = Date.UTC(2026, 10, 21);

function setUp({ tookMs }: { tookMs: number }) {
  const clock = createClock(START_MS);
  let reads = 0;
  const answer = reuseCostlyAnswer({
    now: clock.now,
    maxMs: 600_000,
    async read() {
      clock.advance(tookMs);
      return ++reads;
    },
  });
  return { clock, answer };
}

test('an answer that cost nothing is read every time', async () => {
  const { answer } = setUp({ tookMs: 0 });
  expect([await answer(), await answer()]).toEqual([1, 2]);
});

test.each([
  [2_500, 250_000],
  [60_000, 600_000],
])('one that took %i ms is reused for %i ms', async (tookMs, reusedMs) => {
  const { clock, answer } = setUp({ tookMs });
  await answer();
  clock.advance(reusedMs - 1);
  expect(await answer()).toBe(1);
  clock.advance(1);
  expect(await answer()).toBe(2);
});

test('a clock that was set back does not keep an answer', async () => {
  const { clock, answer } = setUp({ tookMs: 2_500 });
  await answer();
  clock.advance(-1);
  expect(await answer()).toBe(2);
});

test('a failure is not kept', async () => {
  const clock = createClock(START_MS);
  let isDown = true;
  const answer = reuseCostlyAnswer({
    now: clock.now,
    maxMs: 600_000,
    async read() {
      clock.advance(1_000);
      if (isDown) throw new Error('down');
      return 'up';
    },
  });
  await expect(answer()).rejects.toThrow('down');
  isDown = false;
  expect(await answer()).toBe('up');
});
