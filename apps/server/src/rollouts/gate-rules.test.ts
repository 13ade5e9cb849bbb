import type { RingGate } from '@tidegate/protocol/rings';
import type { OutcomeCounts } from '@tidegate/protocol/rollouts-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ringOf } from '../testing/rollout-rings.ts';
import { conditionsOf, failuresOf, haltOf, offerEndMs, type RingFacts } from './gate-rules.ts';

const NONE: OutcomeCounts = {
  ...{ waiting: 0, offline: 0, running: 0, installed: 0, failed: 0, probe_failed: 0, silent: 0 },
  ...{ refused: 0, unfit: 0, not_offered: 0 },
};
const factsOf = (outcomes: Partial<OutcomeCounts>, change: Partial<RingFacts> = {}): RingFacts => {
  const counts = { ...NONE, ...outcomes };
  const hosts = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const installed = { soaked: counts.installed, green: counts.installed };
  return {
    hosts,
    outcomes: counts,
    excused: 0,
    divergences: 0,
    isApproved: false,
    hadTime: true,
    ...installed,
    ...change,
  };
};
const GATE: RingGate = {
  ...{ min_success_count: 2, min_success_rate_percent: 90, soak_minutes: 0 },
  ...{ probes: 'none', approval: false },
};
const isMet = (gate: object, facts: RingFacts, skipsSoak = false) =>
  conditionsOf({ ...GATE, ...gate }, facts, { skipsSoak }).every(({ met }) => met);

describe('the gate of a ring', () => {
  test.each<[string, object, Partial<OutcomeCounts>, Partial<RingFacts>, boolean]>([
    ['enough hosts, all of them', {}, { installed: 2 }, {}, true],
    ['one of one is 100 %, and too few', {}, { installed: 1 }, {}, false],
    ['enough hosts, and too many that failed', {}, { installed: 8, failed: 1 }, {}, false],
    ['the rate to the host', {}, { installed: 9, failed: 1 }, {}, true],
    ['a host whose probes turned red counts as failed', {}, { installed: 8, probe_failed: 1 }, {}, false],
    ['a silent host counts as failed', {}, { installed: 8, silent: 1 }, {}, false],
    ['a host that has not reported is no success', {}, { installed: 8, running: 1 }, {}, false],
    ['an excused host counts no more', {}, { installed: 8, failed: 1 }, { excused: 1 }, true],
    ['offline hosts count neither way', {}, { installed: 2, offline: 50 }, {}, true],
    ['nor do those that refused', {}, { installed: 2, refused: 50 }, {}, true],
    ['nor those that were unfit before', {}, { installed: 2, unfit: 50 }, {}, true],
    ['nor those that wait', {}, { installed: 2, waiting: 50 }, {}, true],
    ['too few that have soaked', { soak_minutes: 60 }, { installed: 3 }, { soaked: 1 }, false],
    ['enough that have soaked', { soak_minutes: 60 }, { installed: 3 }, { soaked: 2 }, true],
    ['one that has soaked is not green', { probes: 'green' }, { installed: 3 }, { green: 2 }, false],
    ['all that have soaked are green', { probes: 'green' }, { installed: 3 }, { green: 3 }, true],
    ['an open divergence', {}, { installed: 2 }, { divergences: 1 }, false],
    ['nobody has approved', { approval: true }, { installed: 2 }, {}, false],
    ['somebody has approved', { approval: true }, { installed: 2 }, { isApproved: true }, true],
    ['approved, and nothing installed', { approval: true }, { waiting: 2 }, { isApproved: true }, false],
    ['nothing to install', {}, { not_offered: 3 }, {}, true],
    ['no host', {}, {}, {}, true],
    ['no host before the deadline, as some may offer it later', {}, {}, { hadTime: false }, false],
    ['nothing to install any more, before it', {}, { not_offered: 3 }, { hadTime: false }, false],
    ['no host, and nobody has approved', { approval: true }, {}, {}, false],
  ])('%s', (_, gate, outcomes, change, met) => {
    expect(isMet(gate, factsOf(outcomes, change))).toBe(met);
  });

  test.each([
    ['its deadline', 90, null, 90],
    ['15 minutes after its hosts were asked to scan', 90, 20, 35],
    ['its deadline, where that is nearer', 30, 20, 30],
  ])('a ring that is given nothing waits for hosts until %s', (_, deadline_minutes, asked, end) => {
    const times = { enteredAtMs: 0, askedAtMs: asked === null ? null : asked * 60_000 };
    expect(offerEndMs(ringOf('canary', { deadline_minutes }), times)).toBe(end * 60_000);
  });

  test('an emergency skips the soak alone', () => {
    const facts = factsOf({ installed: 2 }, { soaked: 0 });
    expect(isMet({ soak_minutes: 60 }, facts)).toBe(false);
    expect(isMet({ soak_minutes: 60 }, facts, true)).toBe(true);
    expect(isMet({ soak_minutes: 60, approval: true }, facts, true)).toBe(false);
    expect(isMet({ soak_minutes: 60 }, factsOf({ installed: 1 }), true)).toBe(false);
  });

  test('each condition says what it has and wants', () => {
    const gate = { ...GATE, soak_minutes: 1_440, probes: 'green', approval: true } as const;
    const facts = factsOf({ installed: 3, failed: 1 }, { soaked: 1, green: 0, divergences: 2 });
    expect(conditionsOf(gate, facts, { skipsSoak: false })).toEqual([
      { kind: 'success_count', met: true, has: 3, wants: 2, text: '2 hosts must have installed' },
      {
        ...{ kind: 'success_rate', met: false, has: 75, wants: 90 },
        text: '90 % of the hosts that received updates must have installed',
      },
      { kind: 'soak', met: false, has: 1, wants: 2, text: '2 hosts must have run the update for 1 day' },
      { kind: 'probes', met: false, has: 0, wants: 2, text: '2 hosts must have green probes' },
      {
        ...{ kind: 'divergences', met: false, has: 2, wants: 0 },
        text: 'no divergence among its packages is open',
      },
      { kind: 'approval', met: false, has: 0, wants: 1, text: 'a person approves the next ring' },
    ]);
  });

  test('more failures never open it', () => {
    const count = fc.nat(50);
    fc.assert(
      fc.property(fc.record({ installed: count, failed: count, running: count, excused: count }), (given) => {
        const { excused, ...outcomes } = given;
        const before = factsOf(outcomes, { excused: Math.min(excused, outcomes.failed) });
        const after = factsOf(
          { ...outcomes, failed: outcomes.failed + 1 },
          { excused: Math.min(excused, outcomes.failed) },
        );
        if (!isMet({}, before)) expect(isMet({}, after)).toBe(false);
      }),
    );
  });
});

describe('a ring', () => {
  const ring = ringOf('canary');
  const halting = (halt: object) => ({
    ...ring,
    halt: { failed_hosts: null, failed_percent: null, ...halt },
  });

  test.each<[string, object, Partial<OutcomeCounts>, Partial<RingFacts>, string | null]>([
    ['goes on while nothing has failed', {}, { installed: 1, running: 9 }, {}, null],
    [
      'halts as soon as its gate cannot be met any more',
      {},
      { failed: 1, waiting: 9 },
      {},
      '1 of 10 hosts of ring "canary" failed; at most 0 % may.',
    ],
    [
      'halts at a number of hosts',
      { failed_hosts: 2 },
      { probe_failed: 1, silent: 1, installed: 90 },
      {},
      '2 hosts of ring "canary" failed; it halts at 2.',
    ],
    ['goes on below that number', { failed_hosts: 2 }, { failed: 1, installed: 1 }, {}, null],
    ['goes on at its share', { failed_percent: 10 }, { failed: 1, installed: 9 }, {}, null],
    [
      'halts above its share',
      { failed_percent: 10 },
      { failed: 1, installed: 8 },
      {},
      '1 of 9 hosts of ring "canary" failed; at most 10 % may.',
    ],
    [
      'does not count hosts that cannot fail',
      { failed_percent: 10 },
      { failed: 1, installed: 8, refused: 20, unfit: 20, not_offered: 20 },
      {},
      '1 of 9 hosts of ring "canary" failed; at most 10 % may.',
    ],
    ['does not count excused hosts', {}, { failed: 1, installed: 1 }, { excused: 1 }, null],
  ])('%s', (_, halt, outcomes, change, expected) => {
    expect(haltOf(halting(halt), null, factsOf(outcomes, change))).toBe(expected);
  });

  test('without a gate takes the rate of the one before it', () => {
    const last = { ...halting({}), gate: null };
    const before = { ...ring, gate: { ...GATE, min_success_rate_percent: 80 } };
    expect(haltOf(last, before, factsOf({ failed: 2, installed: 8 }))).toBeNull();
    expect(haltOf(last, before, factsOf({ failed: 3, installed: 7 }))).toContain('3 of 10 hosts');
    expect(failuresOf(factsOf({ failed: 1, silent: 1, probe_failed: 1, refused: 9 }))).toBe(3);
  });
});
