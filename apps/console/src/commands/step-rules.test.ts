import type { RestartReport } from '@tidegate/protocol/restarts';
import { expect, test } from 'vitest';
import { STEPS_AHEAD, stepsOf } from './step-rules.ts';

const AT = '2026-11-01T10:00:00Z';
const NEW = {
  action: 'install_update',
  status: 'pending',
  ...{ created_at: AT, restarts: null },
  ...{ sent_at: null, received_at: null, started_at: null, installing_at: null, finished_at: null },
  exit_code: null,
} as const;
type Steps = Parameters<typeof stepsOf>;
const states = (command: Steps[0], waits: Steps[1] = []) =>
  stepsOf(command, waits).map(({ label, state }) => `${label}: ${state}`);

test('a step with no time is next or later while the command is open', () => {
  expect(states(NEW)).toEqual([
    'Approved: done',
    'Signed and sent: next',
    'Received: later',
    'Downloading: later',
    'Installing: later',
    'Installed: later',
  ]);
});

test('a step that the host left out is unknown, never done', () => {
  expect(states({ ...NEW, status: 'success', sent_at: AT, finished_at: AT })).toEqual([
    'Approved: done',
    'Signed and sent: done',
    'Received: unknown',
    'Downloading and installing: unknown',
    'Installed: done',
  ]);
});

test('a host that has begun has received the command, though it did not say so', () => {
  const begun = { ...NEW, status: 'running', sent_at: AT, started_at: AT } as const;
  expect(states(begun)[2]).toBe('Received: done');
  expect(states({ ...begun, status: 'success', finished_at: AT })[2]).toBe('Received: done');
});

test('a command that was cancelled before it was sent has not reached the host', () => {
  expect(states({ ...NEW, status: 'cancelled', finished_at: AT })).toEqual([
    'Approved: done',
    'Signed and sent: later',
    'Received: later',
    'Downloading: later',
    'Installing: later',
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
  expect(STEPS_AHEAD.map(({ state }) => state)).toEqual([
    'next',
    'later',
    'later',
    'later',
    'later',
    'later',
  ]);
});

const at = (minute: number) => `2026-11-01T10:${String(minute).padStart(2, '0')}:00Z`;
const RUNNING: Steps[0] = {
  ...NEW,
  ...{ status: 'running', sent_at: at(0), received_at: at(0), started_at: at(1) },
};
const INSTALLING: Steps[0] = { ...RUNNING, installing_at: at(13) };

test.each<[string, Steps[0], Steps[1], readonly string[]]>([
  ['that downloads', RUNNING, [{ kind: 'download' }], ['Downloading: now', 'Installing: later']],
  ['that downloads offline', RUNNING, [{ kind: 'host_offline' }], ['Downloading: now', 'Installing: later']],
  ['that installs', INSTALLING, [{ kind: 'installation' }], ['Downloading: done', 'Installing: now']],
  [
    'whose start was not heard of',
    { ...INSTALLING, started_at: null },
    [],
    ['Downloading: unknown', 'Installing: now'],
  ],
  ['of an agent that does not tell', RUNNING, [{ kind: 'end' }], ['Downloading and installing: now']],
])('an installation %s', (_, command, waits, work) => {
  expect(states(command, waits).slice(3)).toEqual([...work, 'Installed: later']);
});

test.each<[string, Partial<Steps[0]>, readonly string[]]>([
  [
    'failed in its download',
    { status: 'failed' },
    ['Downloading: done', 'Installing: later', 'Ended: failed: stopped'],
  ],
  [
    'failed in its installation',
    { status: 'failed', installing_at: at(13), exit_code: 100 },
    ['Downloading: done', 'Installing: done', 'Ended: failed: stopped'],
  ],
  [
    'failed without saying where',
    { status: 'failed', exit_code: 100 },
    ['Downloading and installing: done', 'Ended: failed: stopped'],
  ],
  [
    'was cut short',
    { status: 'interrupted' },
    ['Downloading and installing: done', 'Ended: interrupted: stopped'],
  ],
])('an installation that %s', (_, end, expected) => {
  expect(states({ ...RUNNING, finished_at: at(20), ...end }).slice(3)).toEqual(expected);
});

test('the download and the installation say how long they took where that was a minute or more', () => {
  const took = (command: Steps[0]) => stepsOf(command, []).map((step) => step.took);
  expect(took(RUNNING)).toEqual([null, null, null, null, null, null]);
  expect(took(INSTALLING)).toEqual([null, null, null, '12 min', null, null]);
  const done = { ...INSTALLING, status: 'success', finished_at: at(16) } as const;
  expect(took(done)).toEqual([null, null, null, '12 min', '3 min', null]);
  expect(took({ ...done, installing_at: at(1), finished_at: at(1) })).toEqual([
    null,
    null,
    null,
    null,
    null,
    null,
  ]);
  // Of a failed download, until it was given up.
  expect(took({ ...RUNNING, status: 'failed', finished_at: at(6) })[3]).toBe('5 min');
});

test('what installs nothing has one step between its receipt and its end', () => {
  expect(states({ ...RUNNING, action: 'scan' }, [{ kind: 'end' }]).slice(2)).toEqual([
    'Received: done',
    'Started: now',
    'Finished: later',
  ]);
});
