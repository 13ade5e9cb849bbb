import { RETURN_SPREAD_MAX_MS } from '@tidegate/protocol/agent-api';
import { expect, test } from 'vitest';
import { createListening } from './listening.ts';

test('listens since the first look, and anew after a gap and a clock that was set back', async () => {
  const listening = createListening(60_000);
  const seen: number[] = [];
  for (const nowMs of [1_000, 61_000, 151_000, 241_001, 300_000, 5_000, 65_000]) {
    seen.push(await listening.since(nowMs));
    listening.looked(nowMs);
  }
  expect(seen).toEqual([1_000, 1_000, 1_000, 241_001, 241_001, 5_000, 5_000]);
});

test('a look that the database did not answer is none', async () => {
  const listening = createListening(60_000);
  await listening.since(1_000);
  listening.looked(1_000);
  const seen = [];
  for (const nowMs of [61_000, 121_000, 181_000]) seen.push(await listening.since(nowMs));
  expect(seen).toEqual([1_000, 121_000, 181_000]);
});

test.each([
  ['a server without hosts', null, 0],
  ['a short pause', 990_000, 20_000],
  ['a pause of an hour', -2_600_000, RETURN_SPREAD_MAX_MS],
  ['a clock that was set back', 4_000_000, 0],
])('after %s hosts may come back for so much longer', async (_, heardMs, laterMs) => {
  const listening = createListening(60_000, async () => heardMs);
  expect(await listening.since(1_000_000)).toBe(1_000_000 + laterMs);
  listening.looked(1_000_000);
  expect(await listening.since(1_060_000)).toBe(1_000_000 + laterMs);
});
