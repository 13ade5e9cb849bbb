import { expect, test } from 'vitest';
import { releaseTimeMs } from './time-rules.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 9);

test.each<[string, unknown, number | null]>([
  ['npm', '2026-11-18T09:00:00.123Z', Date.UTC(2026, 10, 18, 9, 0, 0, 123)],
  ['PyPI, in microseconds', '2026-11-18T09:00:00.123456Z', Date.UTC(2026, 10, 18, 9, 0, 0, 123)],
  ['a proxy, with a zone', '2026-11-18T10:00:00.000000+01:00', Date.UTC(2026, 10, 18, 9)],
  ['now', '2026-11-21T09:00:00Z', NOW_MS],
  ['the future', '2026-11-21T09:00:00.001Z', null],
  ['no zone', '2026-11-18T09:00:00', null],
  ['a day alone', '2026-11-18', null],
  ['another writing', 'Wed, 18 Nov 2026 09:00:00 GMT', null],
  ['a nonexistent month', '2026-13-18T09:00:00Z', null],
  ['a zero instant', '0001-01-01T00:00:00Z', null],
  ['the Unix epoch', '1970-01-01T00:00:00Z', null],
  ['nothing', '', null],
  ['null', null, null],
  ['undefined', undefined, null],
  ['a very long one', `2026-11-18T09:00:00.${'1'.repeat(1_000_000)}Z`, null],
])('a time of release (A7), %s', (_what, text, expected) => {
  expect(releaseTimeMs(typeof text === 'string' || text == null ? text : null, NOW_MS)).toBe(expected);
});
