import { describe, expect, test } from 'vitest';
import { hostDays, hoursText, isDrawable, placeOf, seriesOf } from './overview-rules.ts';

describe('the overview', () => {
  test.each([
    [null, null],
    [
      { list: 'agents', filter: { status: 'offline' } },
      { to: '/hosts', search: { status: 'offline' } },
    ],
    [
      { list: 'updates', filter: { state: 'pending', verdict: 'unchecked' } },
      { to: '/updates', search: { state: 'pending', verdict: 'unchecked' } },
    ],
    [
      { list: 'divergences', filter: { open: 'true' } },
      { to: '/divergences', search: { open: 'true' } },
    ],
  ] as const)('%j leads to %j', (opens, place) => {
    expect(placeOf(opens)).toEqual(place);
  });

  test('a day without open updates is a gap in the ages, not a zero', () => {
    const day = {
      as_of: '2026-01-01T00:00:00Z',
      complete: true,
      exposed: 2,
      exposed_hosts: 3,
      hosts_seen: 3,
    };
    const open = { clear: 1, vulnerable: 2, unchecked: 3, not_judged: 4 };
    const none = { clear: 0, vulnerable: 0, unchecked: 0, not_judged: 0 };
    const items = [
      { ...day, day: '2026-01-01', open, median_age_hours: 5, p95_age_hours: 9 },
      { ...day, day: '2026-01-02', open: none, median_age_hours: null, p95_age_hours: null },
    ];
    expect(seriesOf(items)).toEqual({
      days: ['2026-01-01', '2026-01-02'],
      median: [5, null],
      p95: [9, null],
      exposedHosts: [3, 3],
    });
  });

  test('a line needs seven known days; days on which it was not counted add nothing to the exposure', () => {
    const days = [null, null, 1, 2, 3, 4, 5, 6];
    expect([isDrawable(days), isDrawable([...days, 7])]).toEqual([false, true]);
    expect(hostDays(days)).toBe(21);
  });

  test.each([
    [0, '0 h'],
    [47.4, '47 h'],
    [84, '3.5 d'],
    [24 * 12.4, '12 d'],
  ])('%s hours are %s', (hours, text) => {
    expect(hoursText(hours)).toBe(text);
  });
});
