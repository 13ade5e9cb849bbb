import { expect, test } from 'vitest';
import { type WaitFacts, waitsOf } from './wait-rules.ts';

const NOW = 1_000_000;
const HOST = { id: 'host', isRevoked: false, isOnline: true, tellsInstalling: true } as const;
const COMMAND: NonNullable<WaitFacts['command']> = {
  ...{ status: 'pending', isChanging: true, notBeforeMs: NOW - 5 },
  ...{ isInstallation: false, startedAtMs: null, installingAtMs: null },
};
const INSTALLATION = { ...COMMAND, status: 'running', isInstallation: true, startedAtMs: NOW - 9 } as const;
const FACTS: WaitFacts = {
  ...{ host: HOST, update: null, command: null, holds: [], blackout: null, ring: null, ahead: null },
  ...{ restart: null, unsigned: null, reboot: null },
};
const REBOOT: NonNullable<WaitFacts['reboot']> = {
  ...{ waitsFor: 'slot', notBeforeMs: NOW + 3 },
  slots: { atMost: 2, taken: 2, by: ['web-1', 'web-2'] },
};
const HOLD = { id: 'hold', packages: ['curl'], reason: 'vendor says so', endsAtMs: NOW + 9 };
const BLACKOUT = { id: 'blackout', name: 'Sale', untilMs: NOW + 7 };
const AHEAD = { id: 'other', action: 'scan' } as const;
const OFFLINE = { ...HOST, isOnline: false };

const kinds = (facts: Partial<WaitFacts>) => waitsOf({ ...FACTS, ...facts }, NOW).map(({ kind }) => kind);
const ofCommand = (status: NonNullable<WaitFacts['command']>['status'], facts: Partial<WaitFacts> = {}) =>
  kinds({ command: { ...COMMAND, status }, ...facts });

test.each<[string, Partial<WaitFacts>, readonly string[]]>([
  ['waits for a decision', { update: 'pending' }, ['decision']],
  ['is held', { update: 'pending', holds: [HOLD] }, ['hold']],
  ['is for a later ring', { update: 'pending', ring: { id: 'r', own: 2, current: 0 } }, ['ring']],
  [
    'is in the ring of its rollout',
    { update: 'pending', ring: { id: 'r', own: 1, current: 1 } },
    ['decision'],
  ],
  ['failed', { update: 'failed' }, ['decision']],
  ['has no plan', { update: 'awaiting_plan' }, ['plan']],
  ['has no plan and its host is away', { update: 'awaiting_plan', host: OFFLINE }, ['host_offline', 'plan']],
  ['is installed', { update: 'installed' }, []],
  ['is rejected', { update: 'rejected', holds: [HOLD] }, []],
  ['is of a revoked host', { update: 'pending', host: { ...OFFLINE, isRevoked: true } }, ['host_revoked']],
])('an update without a command that %s', (_, facts, expected) => {
  expect(kinds(facts)).toEqual(expected);
});

test.each<[NonNullable<WaitFacts['command']>['status'], Partial<WaitFacts>, readonly string[]]>([
  ['pending', {}, ['check_in']],
  ['pending', { holds: [HOLD] }, ['hold']],
  ['pending', { blackout: BLACKOUT }, ['blackout']],
  ['pending', { blackout: BLACKOUT, host: OFFLINE }, ['blackout', 'host_offline']],
  ['pending', { command: { ...COMMAND, notBeforeMs: NOW + 1 } }, ['time']],
  [
    'pending',
    { command: { ...COMMAND, isChanging: false }, blackout: BLACKOUT, holds: [HOLD] },
    ['check_in'],
  ],
  ['pending', { host: OFFLINE }, ['host_offline']],
  ['sent', {}, ['receipt']],
  ['sent', { ahead: AHEAD }, ['other_command']],
  ['received', {}, ['start']],
  ['received', { ahead: AHEAD }, ['other_command']],
  ['received', { host: OFFLINE }, ['host_offline']],
  // What runs is not stopped by a blackout.
  ['running', { blackout: BLACKOUT, holds: [HOLD], ahead: AHEAD }, ['end']],
  ['running', { host: OFFLINE }, ['host_offline']],
  ['pending', { unsigned: { updateId: 'u' }, blackout: BLACKOUT }, ['second_signature', 'blackout']],
  ['sent', { unsigned: { updateId: 'u' } }, ['second_signature']],
  ['running', { unsigned: { updateId: 'u' } }, ['end']],
  ['pending', { reboot: REBOOT }, ['reboot']],
  ['sent', { reboot: REBOOT }, ['receipt']],
  ['success', {}, []],
  ['success', { reboot: REBOOT }, []],
  ['success', { reboot: REBOOT, restart: 'services' }, ['restart']],
  ['success', { reboot: REBOOT, restart: 'reboot' }, ['reboot', 'restart']],
  [
    'success',
    { reboot: { ...REBOOT, waitsFor: 'online' }, restart: 'reboot', host: OFFLINE },
    ['host_offline', 'restart'],
  ],
  ['success', { restart: 'reboot' }, ['restart']],
  ['failed', { restart: 'reboot', host: OFFLINE }, []],
  ['cancelled', { host: OFFLINE }, []],
])('a command that is %s with %j waits for %j', (status, facts, expected) => {
  expect(facts.command ? kinds(facts) : ofCommand(status, facts)).toEqual(expected);
});

test('the sentences name what is waited for, and when it ends', () => {
  const command = { ...COMMAND, status: 'pending' } as const;
  expect(waitsOf({ ...FACTS, command, holds: [HOLD], host: OFFLINE }, NOW)).toEqual([
    {
      kind: 'hold',
      text: 'the end of a hold on curl (vendor says so)',
      untilMs: NOW + 9,
      id: 'hold',
      sinceMs: null,
    },
    { kind: 'host_offline', text: 'the host, which is offline', untilMs: null, id: 'host', sinceMs: null },
  ]);
  const ring = { id: 'r', own: 2, current: 0 };
  expect(waitsOf({ ...FACTS, update: 'pending', ring }, NOW)[0]?.text).toBe(
    'ring 3 of its rollout, which is in ring 1',
  );
});

test.each<[Partial<NonNullable<WaitFacts['reboot']>>, string, number | null]>([
  [{}, 'a reboot slot: 2 of 2 taken by web-1, web-2', null],
  [
    { slots: { atMost: 9, taken: 9, by: ['a', 'b', 'c'] } },
    'a reboot slot: 9 of 9 taken by a, b, c, 6 more',
    null,
  ],
  [{ slots: { atMost: 1, taken: 1, by: [] } }, 'a reboot slot: 1 of 1 taken by 1 other', null],
  [
    { waitsFor: 'release' },
    'a person to release the reboot slots of hosts that did not come back; taken by web-1, web-2',
    null,
  ],
  [{ waitsFor: 'later' }, 'the next attempt to reboot it', NOW + 3],
  [{ waitsFor: 'healthy' }, 'other hosts of its group to be up and well before it reboots', null],
  [{ waitsFor: 'turn' }, 'its turn in the queue of reboots', null],
  [{ waitsFor: 'fetch' }, 'the host to fetch its reboot', null],
])('a reboot with %j waits for %s', (facts, text, untilMs) => {
  const command = { ...COMMAND, status: 'success' } as const;
  const [wait] = waitsOf({ ...FACTS, command, restart: 'reboot', reboot: { ...REBOOT, ...facts } }, NOW);
  expect(wait).toEqual({ kind: 'reboot', text, untilMs, id: null, sinceMs: null });
});

test.each<[string, Partial<WaitFacts>, readonly (readonly [string, string, number | null])[]]>([
  ['downloads', { command: INSTALLATION }, [['download', 'the host to download the packages', NOW - 9]]],
  [
    'installs',
    { command: { ...INSTALLATION, installingAtMs: NOW - 4 } },
    [['installation', 'the host to install the packages', NOW - 4]],
  ],
  [
    'went offline while it installed',
    { command: { ...INSTALLATION, installingAtMs: NOW - 4 }, host: OFFLINE },
    [
      ['host_offline', 'the host, which is offline', null],
      ['installation', 'the host to install the packages', NOW - 4],
    ],
  ],
  [
    'has an agent that does not tell which',
    { command: INSTALLATION, host: { ...HOST, tellsInstalling: false } },
    [['end', 'the host to download and install the packages', NOW - 9]],
  ],
  [
    'has an agent that told what its version does not',
    { command: { ...INSTALLATION, installingAtMs: NOW - 4 }, host: { ...HOST, tellsInstalling: false } },
    [['installation', 'the host to install the packages', NOW - 4]],
  ],
  [
    'does something else',
    { command: { ...COMMAND, status: 'running', startedAtMs: NOW - 9 } },
    [['end', 'the host to finish', NOW - 9]],
  ],
])('a running command whose host %s says since when', (_, facts, expected) => {
  const waits = waitsOf({ ...FACTS, ...facts }, NOW);
  expect(waits.map(({ kind, text, sinceMs }) => [kind, text, sinceMs])).toEqual(expected);
});
