import { UPDATE_STATES } from '@tidegate/protocol/states';
import { expect, test } from 'vitest';
import { stepsToSeenInstalled, UPDATE_TRANSITIONS, updateMayMove } from './transition-rules.ts';

test('the table of update states is that of docs/protocol/states.md', () => {
  const lines = UPDATE_STATES.map((state) => `${state} -> ${UPDATE_TRANSITIONS[state].join(', ')}`);
  expect(lines).toEqual([
    'pending -> awaiting_plan, approved, rejected, superseded, installed',
    'awaiting_plan -> approved, pending, rejected, superseded',
    'approved -> installing, pending, superseded, failed',
    'installing -> installed, failed',
    'installed -> ',
    'failed -> pending',
    'rejected -> pending',
    'superseded -> ',
  ]);
});

test.each(UPDATE_STATES)('%s: each step of a scan that saw it installed is in the table', (state) => {
  let from = state;
  for (const to of stepsToSeenInstalled(state)) {
    expect(updateMayMove({ from, to })).toBe(true);
    from = to;
  }
  expect(['pending', 'awaiting_plan', 'approved', 'installing', 'failed'].includes(state)).toBe(
    from === 'installed' && from !== state,
  );
});
