import type { Figure, Overview } from '@tidegate/protocol/overview-api';
import { describe, expect, test } from 'vitest';
import { hoursText, lying, needsMe, placeOf, seriesOf } from './overview-rules.ts';

const FIGURE: Figure = { count: 1, as_of: '2026-01-01T00:00:00Z', opens: null };
const NEEDS_ME: Overview['needs_me'] = {
  waiting: { clear: FIGURE, vulnerable: FIGURE, unchecked: FIGURE, not_judged: FIGURE },
  ...{ exploited: FIGURE, blocked: FIGURE, failed: FIGURE, approvals_undelivered: FIGURE },
  ...{ clones_suspected: FIGURE, hosts_unbound: FIGURE, hosts_offline: FIGURE },
  ...{ divergences_open: null, keys_due: null, registration_tokens_ending: null },
};

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

  test('figures that the caller may not see are left out, and unjudged updates are never shown as good', () => {
    const rows = needsMe({ needs_me: NEEDS_ME });
    expect(rows.map(({ id }) => id)).not.toContain('keys');
    const unknown = rows.filter(({ tone }) => tone === 'unknown').map(({ id }) => id);
    expect(unknown).toEqual(['unchecked', 'not_judged']);
    const all = needsMe({ needs_me: { ...NEEDS_ME, keys_due: FIGURE } });
    expect(all.map(({ id }) => id)).toContain('keys');
  });

  test('suspected clones are also among the signs that something cannot be trusted', () => {
    const now: Overview['lying'] = {
      ...{ machine_mismatches: FIGURE, token_reuse: FIGURE, unchecked: FIGURE },
      advisories: { status: 'ok', data_as_of: null, stale: [], missing: [] },
      clock: { ok: true, behind_seconds: 0, as_of: FIGURE.as_of },
      restore: { detected_at: null, resync_open: false },
    };
    expect(lying({ lying: now, needs_me: NEEDS_ME }).map(({ id }) => id)).toContain('clones');
  });

  test('a day without open updates is a gap in the ages, not a zero', () => {
    const day = { as_of: FIGURE.as_of, complete: true, exposed: 2, hosts_seen: 3 };
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
      exposed: [2, 2],
      open: [10, 0],
    });
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
