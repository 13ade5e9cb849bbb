import { expect, test } from 'vitest';
import { readSpan } from './read-span.ts';

const NOW = Date.UTC(2026, 10, 21, 9);

test.each([
  ['2026-01-01', '2026-02-01', Date.UTC(2026, 0, 1), Date.UTC(2026, 1, 1)],
  [undefined, '2026-11-21', Date.UTC(2026, 7, 23), Date.UTC(2026, 10, 21)],
  ['2026-01-01T12:00Z', undefined, Date.UTC(2026, 0, 1, 12), NOW],
  ['2026-01-01T12:00:01.5Z', '2026-11-21T09:00:00Z', Date.UTC(2026, 0, 1, 12, 0, 1, 500), NOW],
])('from %s to %s', (since, until, sinceMs, untilMs) => {
  expect(readSpan({ since, until }, NOW)).toEqual({ ok: true, span: { sinceMs, untilMs } });
});

test.each([
  ['2026-02-30', undefined, /^since is "2026-02-30"; allowed: a day/],
  ['yesterday', undefined, /^since is "yesterday"/],
  ['2026-01-01', '2026-01-01T00:00:00+02:00', /^until is /],
  ['2026-01-01', '2026-11-22', /^until is in the future/],
  ['2026-01-02', '2026-01-02', /^since is not before until/],
  ['2010-01-01', undefined, /^the span is longer than 3660 days/],
])('from %s to %s is refused', (since, until, fault) => {
  expect(readSpan({ since, until }, NOW)).toEqual({ ok: false, fault: expect.stringMatching(fault) });
});
