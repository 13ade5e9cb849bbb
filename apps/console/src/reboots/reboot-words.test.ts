import type { HostReboot, SlotGroup } from '@tidegate/protocol/reboots-api';
import { describe, expect, test } from 'vitest';
import { canCancel, slotsText, whyText } from './reboot-words.ts';

const QUEUED: HostReboot = {
  ...{ id: 'r', agent_id: 'h', hostname: 'web-1', kind: 'reboot', state: 'queued', waits_for: 'slot' },
  ...{ reason: 'kernel', warn_minutes: 5, asked_by: 'ada', asked_at: '', deadline: '', boot_id: 'b' },
  ...{ new_boot_id: null, units: null, outcomes: null, attempts: 0, not_before: '', blockers: null },
  ...{ detail: null, command_id: null, ended_at: null },
};
const GROUP: SlotGroup = {
  ...{ group: 'web', max_at_once: 2, min_healthy: 0, halt_after: 3, is_halted: false },
  ...{ taken: 1, waiting: 0, slots: [] },
};

describe('why a host stands where it stands', () => {
  test.each<[Partial<HostReboot>, string]>([
    [{}, 'Waits for a free slot of its group.'],
    [{ waits_for: null, state: 'rebooted' }, ''],
    [
      {
        waits_for: 'later',
        blockers: [
          { kind: 'user', name: 'ada' },
          { kind: 'other', name: 'a backup runs' },
        ],
      },
      'Waits for its next attempt. In the way: ada logged in, a backup runs.',
    ],
    [{ waits_for: null, state: 'failed', detail: 'It did not come back.' }, 'It did not come back.'],
    [
      { waits_for: null, state: 'failed', detail: 'it is back, and a probe fails' },
      'It is back, and a probe fails.',
    ],
    [{ waits_for: null, state: 'failed', detail: 'probe שלום' }, '\u2068Probe שלום\u2069.'],
    [{ waits_for: null, state: 'expired' }, 'Its turn did not come in time.'],
    [{ waits_for: null, state: 'expired', detail: 'expired' }, 'The host did not take the command in time.'],
  ])('%j: %s', (change, text) => {
    expect(whyText({ ...QUEUED, ...change })).toBe(text);
  });
});

test.each([
  ['queued', true],
  ['running', true],
  ['rebooted', false],
  ['expired', false],
] as const)('one that is %s can be cancelled: %s', (state, can) => {
  expect(canCancel({ state })).toBe(can);
});

test.each<[Partial<SlotGroup>, string]>([
  [{}, '1 of 2 slots taken'],
  [{ waiting: 3, min_healthy: 4 }, '1 of 2 slots taken, 3 hosts waiting, at least 4 hosts must be well'],
])('%j: %s', (change, text) => {
  expect(slotsText({ ...GROUP, ...change })).toBe(text);
});
