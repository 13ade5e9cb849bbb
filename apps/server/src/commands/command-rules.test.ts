import { COMMAND_STATUSES } from '@tidegate/protocol/states';
import { expect, test } from 'vitest';
import { COMMAND_TRANSITIONS, isFinished, judgeResult, mayRetry } from './command-rules.ts';

test('R5: the final states are those of docs/protocol/states.md, and only pending and sent expire or are cancelled', () => {
  expect(COMMAND_STATUSES.filter(isFinished)).toEqual([
    'success',
    'failed',
    'refused',
    'interrupted',
    'expired',
    'cancelled',
  ]);
  for (const end of ['expired', 'cancelled'] as const) {
    expect(COMMAND_STATUSES.filter((from) => COMMAND_TRANSITIONS[from].includes(end))).toEqual([
      'pending',
      'sent',
    ]);
  }
});

test.each([
  ['pending', 'running', 'unsent'],
  ['sent', 'running', 'move'],
  ['sent', 'refused', 'move'],
  ['received', 'running', 'move'],
  ['received', 'success', 'move'],
  ['running', 'running', 'repeated'],
  ['running', 'interrupted', 'move'],
  ['success', 'success', 'finished'],
  ['failed', 'running', 'finished'],
  ['expired', 'success', 'finished'],
  ['cancelled', 'running', 'finished'],
] as const)('a %s command whose agent reports %s: %s', (status, reported, kind) => {
  expect(judgeResult(status, reported)).toEqual({ kind });
});

test('retry creates a new command from one that ended without success', () => {
  expect(COMMAND_STATUSES.filter(mayRetry)).toEqual([
    'failed',
    'refused',
    'interrupted',
    'expired',
    'cancelled',
  ]);
});
