import type { RestartReport } from '@tidegate/protocol/restarts';
import { expect, test } from 'vitest';
import { STEPS_AHEAD, stepsOf } from './step-rules.ts';

const AT = '2026-11-01T10:00:00Z';
const NEW = {
  action: 'install_update',
  status: 'pending',
  ...{ created_at: AT, restarts: null },
  ...{ sent_at: null, received_at: null, started_at: null, finished_at: null },
} as const;
const states = (command: Parameters<typeof stepsOf>[0]) =>
  stepsOf(command, []).map(({ label, state }) => `${label}: ${state}`);

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
  [[{ kind: 'restart' }], 'Restarted: next'],
  [[], 'Restarted: unknown'],
] as const)('what still runs the old version is a step of its own: %j', (waits, step) => {
  const done = { ...NEW, status: 'success', sent_at: AT, finished_at: AT } as const;
  const restarts = (need: 'needed' | 'not_needed'): RestartReport => ({
    ...{ boot_id: 'boot', observed_at: AT },
    services: { need: 'not_needed', stale: [], more_services: 0 },
    reboot: { need, evidence: [], packages: [], livepatch: 'unknown' },
  });
  const last = (need: 'needed' | 'not_needed') =>
    stepsOf({ ...done, restarts: restarts(need) }, waits).at(-1);
  expect(`${last('needed')?.label}: ${last('needed')?.state}`).toBe(step);
  expect(last('not_needed')?.label).toBe('Installed');
});

test('an installation that nobody has approved waits for that first', () => {
  expect(STEPS_AHEAD.map(({ state }) => state)).toEqual(['next', 'later', 'later', 'later', 'later']);
});
