import { HOST_FAULT_KINDS } from '@tidegate/protocol/host-faults-api';
import { expect, test } from 'vitest';
import { faultsOf, type HostFacts } from './fault-rules.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');
const SOUND: HostFacts = {
  ...{ isRevoked: false, revokedAtMs: null, isBound: true, isOnline: true, isAgentTooOld: false },
  ...{ enrolledAtMs: 0, lastSeenMs: NOW - 1_000, credentialsEndedMs: null, cloneSinceMs: null },
  ...{ otherMachineSinceMs: null, reports: [{ ecosystem: 'apt', isComplete: true, trouble: null }] },
  ...{ redProbesSinceMs: null, failed: null, needsReboot: false, needsRestarts: false },
};
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
  ['a reboot', { needsReboot: true }, 'reboot_needed', 'see_restarts'],
  ['services', { needsRestarts: true }, 'services_restart', 'see_restarts'],
])('%s is one fault with its act', (_, facts, kind, mend) => {
  expect(told(facts).map((fault) => [fault.kind, fault.mend])).toEqual([[kind, mend]]);
});

test('the most urgent comes first', () => {
  const all = told({
    ...{ cloneSinceMs: 1, otherMachineSinceMs: 2, isAgentTooOld: true, redProbesSinceMs: 3 },
    ...{ needsReboot: true, needsRestarts: true },
    failed: { id: 'c', action: 'scan', status: 'refused', reason: null, atMs: 4 },
    reports: [
      { ecosystem: 'apt', isComplete: true, trouble: TROUBLE },
      { ecosystem: 'npm', isComplete: false, trouble: null },
    ],
  }).map(({ kind }) => kind);
  expect(all).toHaveLength(9);
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
