import { describe, expect, test } from 'vitest';
import { nextDelayMs, pauseMs } from './back-off-rules.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('the wait of a delivery', () => {
  test.each([
    [1, null, 0, 30_000],
    [2, null, 0, MINUTE_MS],
    [5, null, 0, 8 * MINUTE_MS],
    [11, null, 0, 6 * HOUR_MS],
    [1_000, null, 0, 6 * HOUR_MS],
    // Spread behind the cap, not before it.
    [1_000, null, 1, 9 * HOUR_MS],
    [1, 5 * MINUTE_MS, 0, 5 * MINUTE_MS],
    [1, 1_000, 0, 30_000],
    [1, 1_000 * HOUR_MS, 0, 24 * HOUR_MS],
  ])('after %i attempts, asked for %s, spread %d: %i', (attempts, retryAfterMs, share, expected) => {
    expect(nextDelayMs({ attempts, retryAfterMs, share })).toBe(expected);
  });
});

describe('the pause of a channel', () => {
  test.each([
    [0, null, 0],
    [2, null, 0],
    [3, null, 10_000],
    [4, null, 20_000],
    [100, null, 5 * MINUTE_MS],
    [1, 2 * MINUTE_MS, 2 * MINUTE_MS],
  ])('after %i failures, asked for %s: %i', (failures, retryAfterMs, expected) => {
    expect(pauseMs({ failures, retryAfterMs, share: 0 })).toBe(expected);
  });
});
