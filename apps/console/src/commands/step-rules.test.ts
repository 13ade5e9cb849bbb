import { expect, test } from 'vitest';
import { stepsOf, waitOf } from './step-rules.ts';

const AT = '2026-11-01T10:00:00Z';
const NEW = {
  action: 'install_update',
  status: 'pending',
  ...{ created_at: AT, not_before: AT },
  ...{ sent_at: null, received_at: null, started_at: null, finished_at: null },
} as const;
const states = (command: Parameters<typeof stepsOf>[0]) =>
  stepsOf(command).map(({ label, state }) => `${label}: ${state}`);

test('a step with no time is next or later while the command is open', () => {
  expect(states(NEW)).toEqual([
    'Approved: done',
    'Signed and sent: next',
    'Received: later',
    'Started: later',
    'Finished: later',
  ]);
});

test('a step that the host left out is unknown, never done', () => {
  expect(states({ ...NEW, status: 'success', sent_at: AT, finished_at: AT })).toEqual([
    'Approved: done',
    'Signed and sent: done',
    'Received: unknown',
    'Started: unknown',
    'Installed: done',
  ]);
});

test('a command that was cancelled before it was sent has not reached the host', () => {
  expect(states({ ...NEW, status: 'cancelled', finished_at: AT })).toEqual([
    'Approved: done',
    'Signed and sent: later',
    'Received: later',
    'Started: later',
    'Ended: cancelled: stopped',
  ]);
});

test('a command that ended otherwise has stopped', () => {
  expect(states({ ...NEW, action: 'scan', status: 'failed', sent_at: AT }).at(-1)).toBe(
    'Ended: failed: stopped',
  );
});

test.each([
  ['pending', Date.parse(AT) - 1, 'its time'],
  ['pending', Date.parse(AT), 'the next check-in of the host'],
  ['sent', Date.parse(AT), 'the host to say that it has it'],
  ['received', Date.parse(AT), 'the host to start'],
  ['running', Date.parse(AT), null],
  ['cancelled', Date.parse(AT), null],
] as const)('%s at %d waits for %s', (status, nowMs, text) => {
  expect(waitOf({ ...NEW, status }, nowMs)).toBe(text);
});
