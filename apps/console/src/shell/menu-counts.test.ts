import { expect, test } from 'vitest';
import { menuCounts } from './menu-counts.ts';

const figure = (count: number) => ({ count, as_of: '2026-11-21T09:00:00.000Z', opens: null });
const NEEDS = {
  waiting: { clear: figure(2), vulnerable: figure(1), unchecked: figure(0), not_judged: figure(4) },
  ...{ approvals_undelivered: figure(0), divergences_open: null },
};
const TOTALS = { hosts: figure(3) };

test('the menu counts what waits and what there is, and leaves out zeros and what the caller may not see', () => {
  expect([...menuCounts({ needs_me: NEEDS, totals: TOTALS })]).toEqual([
    ['/updates', { count: 7, of: 'waiting for approval' }],
    ['/hosts', { count: 3, of: 'hosts' }],
  ]);
  const divergences_open = figure(5);
  expect(
    menuCounts({ needs_me: { ...NEEDS, divergences_open }, totals: TOTALS }).get('/divergences'),
  ).toEqual({
    count: 5,
    of: 'open',
  });
  expect(menuCounts(undefined).size).toBe(0);
});
