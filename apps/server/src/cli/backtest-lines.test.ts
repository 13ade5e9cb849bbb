import type { PolicyBacktest } from '@tidegate/protocol/backtest-api';
import { expect, test } from 'vitest';
import { backtestLines } from './backtest-lines.ts';

const NONE = { approved: 0, taken_back: 0, not_approved: 0 };
const TOLD: PolicyBacktest = {
  ...{ since: '2026-10-26T00:00:00Z', until: '2026-11-25T00:00:00Z', decisions: 2, cut: false },
  ...{ unreadable: 0, approves: { ...NONE, approved: 1 }, leaves: { ...NONE, not_approved: 1 } },
  reasons: [{ reason: 'excepted', count: 1 }],
  updates: [
    {
      ...{ update_id: '01900000-0000-7000-8000-000000000001', hostname: 'web-1', ecosystem: 'apt' },
      ...{ agent_id: '01900000-0000-7000-8000-000000000002', name: 'vim', to_version: '9.1' },
      ...{ decided_at: '2026-11-20T00:00:00Z', reason: 'excepted', fate: 'not_approved' },
    },
  ],
};

test('sums come before the table of updates', () => {
  const [head, would, left, table, ...more] = backtestLines(TOLD);
  expect([head, would, left]).toEqual([
    'Decisions from 2026-10-26T00:00:00Z to 2026-11-25T00:00:00Z: 2',
    'It would have approved: 1 approved, 0 taken back, 0 not approved',
    'It would have left to people: 0 approved, 0 taken back, 1 not approved',
  ]);
  expect(table).toMatch(/vim +9\.1 +web-1 +2026-11-20T00:00:00Z +left: excepted +not approved/);
  expect(more).toEqual([]);
});

test('what limits the answer is told, and nothing is no table', () => {
  const lines = backtestLines({ ...TOLD, cut: true, unreadable: 3, updates: [] });
  expect(lines[0]).toMatch(/: 2\. There are older ones, which were not judged$/);
  expect(lines[1]).toBe('Records that were changed in the database, and are left out: 3');
  expect(lines).toHaveLength(4);
});
