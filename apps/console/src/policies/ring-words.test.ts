import type { Ring, RingGate } from '@tidegate/protocol/rings';
import { expect, test } from 'vitest';
import { gateText, haltText, membersText, ringWarnings, systemText, unprovenText } from './ring-words.ts';

const GATE: RingGate = {
  ...{ min_success_count: 3, min_success_rate_percent: 95, soak_minutes: 1_440 },
  ...{ probes: 'green', approval: true },
};
const RING: Ring = {
  ...{ name: 'canary', members: { kind: 'percent', percent: 10 }, gate: GATE, deadline_minutes: 240 },
  halt: { failed_hosts: 1, failed_percent: null },
};
const REST: Ring = { ...RING, name: 'rest', members: { kind: 'rest' }, gate: null };

test.each([
  [{ kind: 'percent', percent: 10 } as const, '10 % of the hosts'],
  [{ kind: 'rest' } as const, 'all other hosts'],
  [
    { kind: 'some' as const, groups: ['lab'], hosts: [], tags: ['tier=test'] },
    'the group lab, and the tag tier=test',
  ],
])('the members %j are "%s"', (members, expected) => {
  expect(membersText(members)).toBe(expected);
});

test('a gate says all that it asks for, and the last ring has none', () => {
  expect(gateText(RING)).toBe(
    '3 hosts and 95 % of those that took their updates have installed, have run for 1 d since, have green probes and a person approves',
  );
  const least: RingGate = { ...GATE, min_success_count: 1, soak_minutes: 0, probes: 'none', approval: false };
  expect(gateText({ gate: least })).toBe('1 host and 95 % of those that took their updates have installed');
  expect(gateText(REST)).toBeNull();
});

test.each([
  [{ failed_hosts: 1, failed_percent: null }, RING, '1 host failed'],
  [{ failed_hosts: 2, failed_percent: 5 }, RING, '2 hosts failed or more than 5 % failed'],
  [
    { failed_hosts: null, failed_percent: null },
    RING,
    'more failed than the condition for the next ring allows',
  ],
  [{ failed_hosts: null, failed_percent: null }, REST, 'more failed than the condition for this ring allows'],
])('the limits %j halt when %s', (halt, ring, expected) => {
  expect(haltText({ ...ring, halt })).toBe(`${expected}; silent for 4 h counts as failed`);
});

test('what no ring has proven waits for a person unless the policy says for how long', () => {
  expect([undefined, 'ask' as const, { wait_days: 1 }].map(unprovenText)).toEqual([
    'a person decides',
    'a person decides',
    'waits 1 day after its ring was entered',
  ]);
});

test('a system whose parts are not known is named as unknown', () => {
  expect(systemText({ os_id: 'debian', os_version: '12', arch: 'amd64', hosts: 4 })).toBe(
    'debian 12, amd64: 4 hosts',
  );
  expect(systemText({ os_id: null, os_version: null, arch: null, hosts: 1 })).toBe(
    'an unknown system, unknown architecture: 1 host',
  );
});

test.each([
  [0, ['Ring “canary” has no hosts, so it proves nothing.']],
  [
    2,
    ['The next ring after “canary” asks for 3 installed hosts, but it has 2: the rollout would stop there.'],
  ],
  [3, []],
])('a first ring of %i hosts warns of %j', (hosts, expected) => {
  const preview = {
    rings: [
      { name: 'canary', hosts },
      { name: 'rest', hosts: 0 },
    ],
    unrepresented: [],
  };
  expect(ringWarnings([RING, REST], preview)).toEqual(expected);
});
