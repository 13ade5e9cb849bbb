import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { expect, test } from 'vitest';
import { othersOf } from './offer-rules.ts';
import { offersText } from './update-words.ts';

function item(id: string, fields: Partial<UpdateItem> = {}): UpdateItem {
  return {
    ...{ id, agent_id: 'a', hostname: 'h', ecosystem: 'npm', name: 'demo', arch: '/srv/app' },
    ...{
      current_version: '1.4.0',
      available_version: '1.4.9',
      origin: null,
      security: false,
      size_bytes: null,
    },
    ...{ offers: ['newest'], change: 'patch', recommended: false, state: 'pending', state_reason: null },
    ...{ out_of_band: false, verdict: null, severity: null, known_exploited: null, epss: null },
    ...{
      introduces: null,
      stays: null,
      fixes: null,
      fixes_severity: null,
      fixes_exploited: null,
      has_plan: false,
      siblings: null,
      rollback_of: null,
    },
    ...{
      not_before: null,
      discovered_at: '2026-11-21T09:00:00Z',
      updated_at: '2026-11-21T09:00:00Z',
      ...fields,
    },
  };
}

test('the other versions are those of the same place that are open, the smallest change first', () => {
  const listed = [
    item('newest', { available_version: '3.0.0', change: 'major' }),
    item('series', { available_version: '1.10.0', change: 'minor' }),
    item('minor', { available_version: '1.9.2', change: 'minor' }),
    item('self'),
    item('elsewhere', { arch: '/srv/other' }),
    item('done', { state: 'installed' }),
    item('approved', { available_version: '1.4.8', state: 'approved' }),
  ];
  expect(othersOf(item('self'), listed).map(({ id }) => id)).toEqual([
    'approved',
    'minor',
    'series',
    'newest',
  ]);
});

test.each([
  [['newest'], 'the newest'],
  [['series', 'newest'], 'the newest of its series and the newest'],
  [['series', 'newest', 'smallest_fix'], 'the newest of its series, the newest and the smallest fix'],
] as const)('%j is said as "%s"', (offers, text) => {
  expect(offersText({ offers: [...offers] })).toBe(text);
});
