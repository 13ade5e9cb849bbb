import {
  type GateCondition,
  HOST_OUTCOMES,
  type OutcomeCounts,
  ROLLOUT_STATES,
  type RolloutDetail,
  type RolloutRing,
} from '@tidegate/protocol/rollouts-api';
import { expect, test } from 'vitest';
import {
  actsOn,
  failuresOf,
  numberText,
  OUTCOME_KEYS,
  OUTCOMES,
  outcomesIn,
  outcomesText,
  placeText,
  STATES,
} from './rollout-rules.ts';

const NONE: OutcomeCounts = {
  ...{ waiting: 0, offline: 0, running: 0, installed: 0, failed: 0 },
  ...{ probe_failed: 0, silent: 0, refused: 0, unfit: 0, not_offered: 0 },
};
const APPROVAL: GateCondition = { kind: 'approval', met: false, has: 0, wants: 1, text: 'a person approves' };
const LANE: RolloutRing = {
  ...{ ring: 0, name: 'canary', members: { kind: 'percent', percent: 10 }, state: 'current' },
  ...{ entered_at: '2026-11-21T10:00:00Z', hosts: 3, late: 0, excused: 0, outcomes: NONE, conditions: [] },
};
const ROLLOUT: RolloutDetail = {
  ...{ id: '01900000-0000-7000-a000-000000000001', policy_id: '01900000-0000-7000-a000-000000000002' },
  ...{ policy_sha256: 'a'.repeat(64), policy_name: 'Nightly', lane: 'wave', state: 'running' },
  ...{ ring: 0, ring_name: 'canary', rings: 2, started_at: '2026-11-21T10:00:00Z' },
  ...{ ring_entered_at: '2026-11-21T10:00:00Z', ended_at: null, waits_for: 'Waits.', packages: 1, hosts: 3 },
  ...{ outcomes: NONE, lanes: [LANE], halt: null, package_list: [] },
  ...{ unrepresented: [], in_force: true },
};

test('every outcome and every state of the server has its words', () => {
  expect(OUTCOME_KEYS.toSorted()).toEqual(HOST_OUTCOMES.toSorted());
  expect(new Set(Object.values(OUTCOMES).map(({ word }) => word)).size).toBe(HOST_OUTCOMES.length);
  expect(Object.keys(STATES).toSorted()).toEqual(ROLLOUT_STATES.toSorted());
});

test('outcomes are counted apart, without those that no host has', () => {
  const counts = { ...NONE, installed: 1_200, silent: 1, probe_failed: 2 };
  expect(outcomesText(counts)).toBe('1,200 installed, 2 unhealthy, 1 silent');
  expect(outcomesIn(counts).map(({ tone }) => tone)).toEqual(['good', 'bad', 'bad']);
  expect(outcomesText(NONE)).toBe('no hosts');
});

test('the place of a rollout is counted from one', () => {
  expect(placeText(ROLLOUT)).toBe('ring 1 of 2, canary');
});

test.each([
  ['success_count', 2, 3, '2 of 3 hosts'],
  ['success_count', 3, 1, '3 hosts'],
  ['soak', 0, 1, '0 of 1 host'],
  ['probes', 1, 2, '1 of 2 hosts'],
  ['success_rate', 66, 100, '66 %, needs 100 %'],
  ['success_rate', 100, 90, '100 %'],
  ['divergences', 2, 0, '2 open'],
  ['divergences', 0, 0, 'none is open'],
  ['approval', 0, 1, 'not approved yet'],
  ['approval', 1, 1, 'approved'],
] as const)('the condition %s with %i of %i says "%s"', (kind, has, wants, expected) => {
  expect(numberText({ kind, has, wants, met: has >= wants, text: '' })).toBe(expected);
});

test.each([
  ['running', 'wave', false, ['halt', 'emergency', 'cancel']],
  ['running', 'emergency', false, ['halt', 'cancel']],
  ['running', 'wave', true, ['approve', 'halt', 'emergency', 'cancel']],
  ['halted', 'wave', true, ['resume', 'cancel']],
  ['finished', 'wave', false, []],
  ['cancelled', 'wave', false, []],
] as const)(
  'a rollout that is %s (%s), with an approval asked for %s, allows %j',
  (state, lane, asks, acts) => {
    const lanes = [{ ...LANE, conditions: asks ? [APPROVAL] : [] }];
    expect(actsOn({ ...ROLLOUT, state, lane, lanes })).toEqual(acts);
  },
);

test('an approval is asked for of the ring that was entered last, and only once', () => {
  const lanes = [{ ...LANE, conditions: [APPROVAL] }, LANE];
  expect(actsOn({ ...ROLLOUT, lanes, ring: 1 })).not.toContain('approve');
  const met = [{ ...LANE, conditions: [{ ...APPROVAL, met: true, has: 1 }] }];
  expect(actsOn({ ...ROLLOUT, lanes: met })).not.toContain('approve');
});

test('hosts that somebody has excused are not counted as failed again', () => {
  const outcomes = { ...NONE, failed: 2, probe_failed: 1, silent: 1, refused: 7 };
  const lanes = [{ ...LANE, conditions: [], excused: 3 }];
  expect(failuresOf({ outcomes, lanes })).toBe(1);
});
