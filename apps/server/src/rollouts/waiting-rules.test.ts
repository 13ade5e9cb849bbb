import type { RingGate } from '@tidegate/protocol/rings';
import { expect, test } from 'vitest';
import { conditionsOf } from './gate-rules.ts';
import { type WaitingFacts, waitsFor } from './waiting-rules.ts';

const NONE = {
  ...{ waiting: 0, offline: 0, running: 0, installed: 0, failed: 0, probe_failed: 0, silent: 0 },
  ...{ refused: 0, unfit: 0, not_offered: 0 },
};
const GATE: RingGate = {
  ...{ min_success_count: 2, min_success_rate_percent: 90, soak_minutes: 90 },
  ...{ probes: 'none', approval: true },
};
const facts = (
  change: Partial<WaitingFacts> & {
    counts?: object;
    divergences?: number;
    soaked?: number;
    hadTime?: boolean;
  },
): WaitingFacts => {
  const { counts = {}, divergences = 0, soaked = 0, hadTime = true, ...more } = change;
  const outcomes = { ...NONE, ...counts };
  const hosts = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const ring = { hosts, outcomes, excused: 0, soaked, green: 0, divergences, isApproved: false, hadTime };
  return {
    ...{
      state: 'running',
      ring: 'canary',
      next: 'rest',
      outcomes,
      halt: null,
      endReason: null,
      offersEndAt: '2026-11-22T02:15:00Z',
      opens: null,
      stops: [],
    },
    conditions: conditionsOf(GATE, ring, { skipsSoak: false }),
    ...more,
  };
};

test.each<[string, Parameters<typeof facts>[0]]>([
  ['Waits in ring "canary": 2 hosts must have installed; 1 of 2.', { counts: { installed: 1, waiting: 3 } }],
  [
    'Waits in ring "canary": 90 % of the hosts that received updates must have installed; now 66 %.',
    { counts: { installed: 2, running: 1 } },
  ],
  [
    'Waits in ring "canary": 2 hosts must have run the update for 90 minutes; 1 of 2.',
    { counts: { installed: 2 }, soaked: 1 },
  ],
  [
    'Waits in ring "canary": no divergence among its packages is open; 3 are.',
    { counts: { installed: 2 }, soaked: 2, divergences: 3 },
  ],
  [
    'Waits in ring "canary": a person approves the next ring; nobody has.',
    { counts: { installed: 2 }, soaked: 2 },
  ],
  [
    'Waits in ring "canary": 2 hosts must have installed; 1 of 2. The gate stops 3 updates of its policy: 2 too young, 1 unproven.',
    {
      counts: { installed: 1, waiting: 3 },
      stops: [
        { reason: 'too_young', count: 2 },
        { reason: 'unproven', count: 1 },
      ],
    },
  ],
  [
    'Waits for 1 host of ring "rest": 0 running, 1 waiting, 0 offline. The gate stops 1 update of its policy: 1 held.',
    { ring: 'rest', next: null, counts: { waiting: 1 }, stops: [{ reason: 'held', count: 1 }] },
  ],
  [
    'Waits in ring "canary": 2 hosts must have installed; 0 of 2. The gate stops 11 updates of its policy: 5 held, 3 unproven, 2 unknown age, 1 for other reasons.',
    {
      counts: { waiting: 2 },
      stops: [
        { reason: 'held', count: 5 },
        { reason: 'unproven', count: 3 },
        { reason: 'unknown_age', count: 2 },
        { reason: 'undecidable', count: 1 },
      ],
    },
  ],
  // Nothing waits for the gate.
  [
    'Waits in ring "canary": 2 hosts must have installed; 1 of 2.',
    { counts: { installed: 1, running: 1 }, stops: [{ reason: 'held', count: 1 }] },
  ],
  [
    'Waits for hosts of ring "canary" to offer these versions, until 2026-11-22T02:15:00Z.',
    { hadTime: false },
  ],
  ['Waits for ring "canary": all its 3 hosts are offline.', { counts: { offline: 3 } }],
  [
    'Waits for the window of its policy, which opens at 2026-11-22T02:00:00Z.',
    { counts: { waiting: 3 }, opens: { at: '2026-11-22T02:00:00Z' } },
  ],
  [
    'Its policy has no window any more: give it one, or cancel the rollout.',
    { counts: { waiting: 3 }, opens: { at: null } },
  ],
  [
    'Waits for 3 hosts of ring "rest": 1 running, 1 waiting, 1 offline.',
    { ring: 'rest', next: null, counts: { running: 1, waiting: 1, offline: 1 } },
  ],
  [
    'Waits for 1 host of ring "rest" that is offline.',
    { ring: 'rest', next: null, counts: { offline: 1, installed: 1 } },
  ],
  [
    'Halted by ada: Not on a Friday. It goes on when somebody resumes it.',
    { state: 'halted', halt: { by: 'ada', reason: 'Not on a Friday.' } },
  ],
  [
    'Halted by ada: the shop is down. It goes on when somebody resumes it.',
    { state: 'halted', halt: { by: 'ada', reason: 'the shop is down' } },
  ],
  [
    'Cancelled by ada: The next one is near.',
    { state: 'cancelled', endReason: 'Cancelled by ada: The next one is near.' },
  ],
  ['Finished: 2 hosts installed.', { state: 'finished', endReason: 'Finished: 2 hosts installed.' }],
])('%s', (sentence, change) => {
  expect(waitsFor(facts(change))).toBe(sentence);
});
