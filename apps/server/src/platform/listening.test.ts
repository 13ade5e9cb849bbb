import { expect, test } from 'vitest';
import { createListening } from './listening.ts';

test('listens since the first look, and anew after a gap and a clock that was set back', () => {
  const listening = createListening(60_000);
  const seen = [1_000, 61_000, 151_000, 241_001, 300_000, 5_000, 65_000].map((nowMs) => {
    const since = listening.since(nowMs);
    listening.looked(nowMs);
    return since;
  });
  expect(seen).toEqual([1_000, 1_000, 1_000, 241_001, 241_001, 5_000, 5_000]);
});

test('a look that the database did not answer is none', () => {
  const listening = createListening(60_000);
  listening.since(1_000);
  listening.looked(1_000);
  expect([61_000, 121_000, 181_000].map((nowMs) => listening.since(nowMs))).toEqual([
    1_000, 121_000, 181_000,
  ]);
});
