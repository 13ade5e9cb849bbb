import { expect, test } from 'vitest';
import { type WaitFacts, waitsOf } from './wait-rules.ts';

const NOW = 1_000_000;
const HOST = { id: 'host', isRevoked: false, isOnline: true } as const;
const COMMAND = { status: 'pending', isChanging: true, notBeforeMs: NOW - 5 } as const;
const FACTS: WaitFacts = {
  ...{ host: HOST, update: null, command: null, holds: [], blackout: null, ring: null, ahead: null },
  restart: null,
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
  ['success', {}, []],
  ['success', { restart: 'reboot' }, ['restart']],
  ['failed', { restart: 'reboot', host: OFFLINE }, []],
  ['cancelled', { host: OFFLINE }, []],
])('a command that is %s with %j waits for %j', (status, facts, expected) => {
  expect(facts.command ? kinds(facts) : ofCommand(status, facts)).toEqual(expected);
});

test('the sentences name what is waited for, and when it ends', () => {
  const command = { ...COMMAND, status: 'pending' } as const;
  expect(waitsOf({ ...FACTS, command, holds: [HOLD], host: OFFLINE }, NOW)).toEqual([
    { kind: 'hold', text: 'the end of a hold on curl (vendor says so)', untilMs: NOW + 9, id: 'hold' },
    { kind: 'host_offline', text: 'the host, which is offline', untilMs: null, id: 'host' },
  ]);
  const ring = { id: 'r', own: 2, current: 0 };
  expect(waitsOf({ ...FACTS, update: 'pending', ring }, NOW)[0]?.text).toBe(
    'ring 3 of its rollout, which is in ring 1',
  );
});
