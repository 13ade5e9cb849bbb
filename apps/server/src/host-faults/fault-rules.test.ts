import { HOST_FAULT_KINDS } from '@tidegate/protocol/host-faults-api';
import { expect, test } from 'vitest';
import { faultsOf, type HostFacts } from './fault-rules.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');
const SOUND: HostFacts = {
  ...{ isRevoked: false, revokedAtMs: null, isBound: true, isOnline: true, isAgentTooOld: false },
  ...{ enrolledAtMs: 0, lastSeenMs: NOW - 1_000, credentialsEndedMs: null, cloneSinceMs: null },
  ...{ otherMachineSinceMs: null, reports: [{ ecosystem: 'apt', isComplete: true, trouble: null }] },
  ...{ redProbesSinceMs: null, failed: null, needsReboot: false, needsRestarts: false },
  timeliness: null,
};
const DAY = 86_400_000;
const TIMELY = { aheadMs: 0, lists: [], receivedMs: NOW };
const TROUBLE = { reason: 'packages_broken', detail: 'run `dpkg --configure -a`', canRepair: true } as const;
const told = (facts: Partial<HostFacts>) => faultsOf({ ...SOUND, ...facts }, NOW);

test('nothing is wrong with a sound host', () => {
  expect(told({})).toEqual([]);
});

test.each<[string, Partial<HostFacts>, string, string | null]>([
  ['a clone', { cloneSinceMs: 5 }, 'clone_suspected', 'decide_clone'],
  ['revoked', { isRevoked: true, isOnline: false, revokedAtMs: 5 }, 'revoked', 'enrol'],
  [
    'ended credentials',
    { credentialsEndedMs: 5, isOnline: false, lastSeenMs: 4 },
    'credentials_ended',
    'enrol',
  ],
  ['changed hardware', { otherMachineSinceMs: 5, isOnline: false }, 'other_machine', 'rebind'],
  ['copied credentials', { otherMachineSinceMs: 5 }, 'other_machine', 'see_events'],
  ['no machine', { isBound: false, isOnline: false }, 'unbound', null],
  ['never seen', { isOnline: false, lastSeenMs: null, reports: [] }, 'never_seen', null],
  ['offline', { isOnline: false, lastSeenMs: 7 }, 'offline', null],
  [
    'half-configured packages',
    { reports: [{ ecosystem: 'apt', isComplete: false, trouble: TROUBLE }] },
    'packages_broken',
    'repair',
  ],
  [
    'a full disk',
    {
      reports: [
        {
          ...{ ecosystem: 'apt', isComplete: true },
          trouble: { reason: 'space_insufficient', detail: 'free 2 GB on /', canRepair: false },
        },
      ],
    },
    'space_insufficient',
    'see_condition',
  ],
  ['an old agent', { isAgentTooOld: true }, 'agent_too_old', 'update_agent'],
  ['a wrong clock', { timeliness: { ...TIMELY, aheadMs: -31_000 } }, 'clock_wrong', null],
  ['red probes', { redProbesSinceMs: 5 }, 'probes_red', 'see_probes'],
  [
    'a failed command',
    { failed: { id: 'c', action: 'install_update', status: 'failed', reason: 'exit_code', atMs: 5 } },
    'command_failed',
    'see_command',
  ],
  ['no report', { reports: [] }, 'packages_unknown', 'scan'],
  [
    'half a report',
    { reports: [{ ecosystem: 'dnf', isComplete: false, trouble: null }] },
    'packages_incomplete',
    'scan',
  ],
  [
    'old lists',
    { timeliness: { ...TIMELY, lists: [{ ecosystem: 'apt', ageMs: 9 * DAY }] } },
    'lists_stale',
    null,
  ],
  ['a reboot', { needsReboot: true }, 'reboot_needed', 'see_restarts'],
  ['services', { needsRestarts: true }, 'services_restart', 'see_restarts'],
])('%s is one fault with its act', (_, facts, kind, mend) => {
  expect(told(facts).map((fault) => [fault.kind, fault.mend])).toEqual([[kind, mend]]);
});

test('the most urgent comes first', () => {
  const all = told({
    ...{ cloneSinceMs: 1, otherMachineSinceMs: 2, isAgentTooOld: true, redProbesSinceMs: 3 },
    ...{ needsReboot: true, needsRestarts: true },
    timeliness: { ...TIMELY, aheadMs: DAY, lists: [{ ecosystem: 'dnf', ageMs: 9 * DAY }] },
    failed: { id: 'c', action: 'scan', status: 'refused', reason: null, atMs: 4 },
    reports: [
      { ecosystem: 'apt', isComplete: true, trouble: TROUBLE },
      { ecosystem: 'npm', isComplete: false, trouble: null },
    ],
  }).map(({ kind }) => kind);
  expect(all).toHaveLength(11);
  expect(all).toEqual(HOST_FAULT_KINDS.filter((kind) => all.includes(kind)));
});

test('a host that just enrolled has an hour to report its packages', () => {
  expect(told({ reports: [], enrolledAtMs: NOW - 3_599_000 })).toEqual([]);
});

test('a host that just enrolled is not missed yet', () => {
  const fresh = { isOnline: false, lastSeenMs: null, reports: [] };
  expect(told({ ...fresh, enrolledAtMs: NOW - 299_000 })).toEqual([]);
  expect(told({ ...fresh, enrolledAtMs: NOW - 300_000 }).map(({ kind }) => kind)).toEqual(['never_seen']);
});

test('a host that another machine replaced is not told to be offline besides', () => {
  const [fault] = told({ otherMachineSinceMs: 5, isOnline: false });
  expect(fault).toMatchObject({ urgent: true, since: 5 });
  expect(fault?.text).toBe('Another machine asks with the credentials of this host');
});

test('the sentence of a failed command names what was asked and how it ended', () => {
  const failed = { id: 'c', action: 'install_update', status: 'expired', reason: null, atMs: 5 } as const;
  expect(told({ failed })[0]?.text).toBe('The last command expired: install an update');
});

test.each<[number, boolean, string, string]>([
  [31_000, false, 'about 31 seconds ahead of', 'allow for a difference of 5 minutes'],
  [300_000, false, 'about 5 minutes ahead of', 'allow for a difference of 5 minutes'],
  [300_001, true, 'about 5 minutes ahead of', 'from 15 minutes on it installs nothing'],
  [400 * DAY, true, 'about 400 days ahead of', 'takes signed commands for expired too early'],
  [-300_000, false, 'about 5 minutes behind', 'allow for a difference of 5 minutes'],
  [
    -7_200_000,
    false,
    'about 2 hours behind',
    'Commands work, as the host goes by the times that the server signs',
  ],
])(
  'a clock that is %i ms ahead says how much, and what it does to commands',
  (aheadMs, urgent, text, why) => {
    const faults = told({ timeliness: { ...TIMELY, aheadMs } });
    expect(faults).toMatchObject([{ kind: 'clock_wrong', urgent }]);
    expect(faults[0]?.text).toBe(`The clock of the host is ${text} the server's`);
    expect(faults[0]?.why).toContain(why);
  },
);

test('a command that expired was not run in time, as nobody said anything', () => {
  const failed = { id: 'c', action: 'plan_update', status: 'expired', reason: 'expired', atMs: 5 } as const;
  expect(told({ failed }).map(({ why }) => why)).toEqual(['The host did not run it in time.']);
});

test('a difference that the way of a request explains is no fault', () => {
  for (const aheadMs of [30_000, -30_000]) expect(told({ timeliness: { ...TIMELY, aheadMs } })).toEqual([]);
});

test('lists are old after two days, each with what fetches it', () => {
  const lists = [
    { ecosystem: 'apt', ageMs: 2 * DAY + 1 },
    { ecosystem: 'dnf', ageMs: 2 * DAY },
  ] as const;
  expect(told({ timeliness: { ...TIMELY, lists } })).toMatchObject([
    { kind: 'lists_stale', text: 'The package lists of apt are 2 days old' },
  ]);
  const both = told({ timeliness: { ...TIMELY, lists: lists.map((one) => ({ ...one, ageMs: 3 * DAY })) } });
  expect(both.map(({ why }) => /apt-daily\.timer|metadata_expire/.exec(why)?.[0])).toEqual([
    'apt-daily.timer',
    'metadata_expire',
  ]);
  for (const { why } of both) expect(why).toContain('"nothing to install" is not to be believed');
});

test('what a host said more than two days ago is not known any more', () => {
  const timeliness = {
    aheadMs: DAY,
    lists: [{ ecosystem: 'apt', ageMs: 9 * DAY }],
    receivedMs: NOW - 2 * DAY,
  } as const;
  const faults = told({ timeliness });
  expect(faults.map(({ kind }) => kind)).toEqual(['clock_wrong', 'lists_stale']);
  expect(faults[1]?.text).toContain('are 11 days old');
  expect(told({ timeliness: { ...timeliness, receivedMs: NOW - 2 * DAY - 1 } })).toEqual([]);
});
