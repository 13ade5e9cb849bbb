import type { PolicyBacktest } from '@tidegate/protocol/backtest-api';
import { expect, test } from 'vitest';
import { backtestText, limitsText, wouldText } from './backtest-rules.ts';

const NONE = { approved: 0, taken_back: 0, not_approved: 0 };
const told = (change: Partial<PolicyBacktest>): PolicyBacktest => ({
  ...{ since: '2026-10-26T00:00:00Z', until: '2026-11-25T00:00:00Z', decisions: 3, cut: false },
  ...{ unreadable: 0, approves: NONE, leaves: NONE, reasons: [], updates: [] },
  ...change,
});

test.each<[Partial<PolicyBacktest>, string]>([
  [{}, 'No decision about an update of these hosts was recorded.'],
  [
    {
      approves: { approved: 1_200, taken_back: 1, not_approved: 0 },
      leaves: { approved: 1, taken_back: 0, not_approved: 3 },
    },
    'Of 1,205 updates it would have approved 1,201: 1,200 were approved, 1 was approved and taken back. ' +
      'It would have left 4 to people: 1 was approved, 3 were not approved.',
  ],
  [
    { approves: { ...NONE, not_approved: 1 } },
    'Of 1 update it would have approved 1: 1 was not approved. It would have left 0 to people.',
  ],
])('%j is told as: %s', (change, text) => {
  expect(backtestText(told(change))).toBe(text);
});

test('what limits the answer is told', () => {
  expect(limitsText(told({}))).toBe('');
  expect(limitsText(told({ cut: true, decisions: 10_000, unreadable: 1 }))).toBe(
    'Only the newest 10,000 decisions are judged. 1 record changed in the database: nothing is concluded from them.',
  );
});

test('what it would have done with one update is a word or the reason', () => {
  expect(wouldText({ reason: null })).toBe('approved it');
  expect(wouldText({ reason: 'excepted' })).toBe('The policy leaves this package out.');
});
