import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPauseOver, renewAtMs, retryAtMs } from './renewal-rules.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

test.each<[string, number, string, number]>([
  ['90 days', 90, '00', 60],
  ['90 days', 90, 'ffffffff', 57],
  ['45 days', 45, '00000000', 30],
  ['6 days', 6, '80000000', 3.9],
])(
  'a certificate of %s is renewed in time (%i days, %s: after %f days)',
  (_, days, fingerprint, afterDays) => {
    const at = renewAtMs({
      notBeforeMs: 0,
      notAfterMs: days * DAY_MS,
      fingerprint: fingerprint.padEnd(64, '0'),
    });
    expect(at / DAY_MS).toBeCloseTo(afterDays, 5);
  },
);

test.each<[number, number]>([
  [1, 5],
  [2, 15],
  [3, 60],
  [4, 180],
  [5, 360],
  [6, 720],
  [7, 720],
  [1_000, 720],
])('after %i failures the next attempt is %i minutes later', (failures, minutes) => {
  expect(retryAtMs({ nowMs: 0, failures, retryAfterMs: null, jitter: 0 })).toBe(minutes * MINUTE_MS);
});

test('neither jitter, nor a further failure, nor what the ACME server asks for shortens a pause', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.option(fc.nat(30 * DAY_MS)),
      (failures, jitter, retryAfterMs) => {
        const plain = retryAtMs({ nowMs: 0, failures, retryAfterMs: null, jitter: 0 });
        const at = retryAtMs({ nowMs: 0, failures, retryAfterMs, jitter });
        expect(at).toBeGreaterThanOrEqual(Math.max(plain, Math.min(retryAfterMs ?? 0, 7 * DAY_MS)));
        expect(at).toBeLessThanOrEqual(7 * DAY_MS * 1.25);
        expect(retryAtMs({ nowMs: 0, failures: failures + 1, retryAfterMs, jitter })).toBeGreaterThanOrEqual(
          at,
        );
      },
    ),
  );
});

test.each([
  [0, HOUR_MS, false],
  [HOUR_MS, HOUR_MS, true],
  [0, 8 * DAY_MS, false],
  // The clock was ahead when the pause began.
  [0, 9 * DAY_MS, true],
])('at %i a pause until %i is over: %s', (nowMs, atMs, isOver) => {
  expect(isPauseOver({ nowMs, atMs })).toBe(isOver);
});
