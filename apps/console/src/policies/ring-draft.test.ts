import {
  DEADLINE_MAX_MINUTES,
  RINGS_MAX,
  Ring,
  type RingGate,
  Rings,
  SOAK_MAX_MINUTES,
  UNPROVEN_WAIT_MAX_DAYS,
} from '@tidegate/protocol/rings';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import {
  canaryThenRest,
  RING_LIMITS,
  type RingDraft,
  ringDraftOf,
  ringOf,
  withoutRing,
  withRing,
  withSwapped,
} from './ring-draft.ts';

const GATE: RingGate = {
  ...{ min_success_count: 3, min_success_rate_percent: 95, soak_minutes: 0 },
  ...{ probes: 'green', approval: true },
};
const ID = '01900000-0000-7000-a000-000000000001';
const namesOf = (rings: readonly RingDraft[]) => rings.map(({ name }) => name);

test('limits are those of the server', () => {
  expect(RING_LIMITS).toEqual({
    rings: RINGS_MAX,
    soakMinutes: SOAK_MAX_MINUTES,
    leastDeadlineMinutes: [1, 2, 3, 4, 5, 6].find((one) =>
      Value.Check(Ring.properties.deadline_minutes, one),
    ),
    deadlineMinutes: DEADLINE_MAX_MINUTES,
    waitDays: UNPROVEN_WAIT_MAX_DAYS,
  });
});

test.each<[string, Ring]>([
  [
    'groups, hosts and tags',
    {
      ...{ name: 'lab', members: { kind: 'some', groups: ['lab'], hosts: [ID], tags: ['tier=test'] } },
      ...{ gate: GATE, deadline_minutes: 30, halt: { failed_hosts: 2, failed_percent: 0 } },
    },
  ],
  [
    'groups alone',
    {
      ...{ name: 'lab', members: { kind: 'some', groups: ['lab'], hosts: [] } },
      ...{ gate: { ...GATE, probes: 'none', approval: false }, deadline_minutes: 30 },
      halt: { failed_hosts: null, failed_percent: null },
    },
  ],
  [
    'a share',
    {
      ...{ name: 'early', members: { kind: 'percent', percent: 20 }, gate: GATE, deadline_minutes: 30 },
      halt: { failed_hosts: 1, failed_percent: null },
    },
  ],
  [
    'the rest',
    {
      ...{ name: 'rest', members: { kind: 'rest' }, gate: null, deadline_minutes: 480 },
      halt: { failed_hosts: null, failed_percent: 5 },
    },
  ],
])('a ring of %s that is not touched stays as it is', (_, ring) => {
  expect(Value.Check(Ring, ring)).toBe(true);
  expect(ringOf(ringDraftOf(ring, 7))).toEqual(ring);
});

test('the rings that a form begins with have the form that the server takes, also with one more', () => {
  const rings = canaryThenRest();
  expect(Value.Errors(Rings, rings.map(ringOf))).toEqual([]);
  const more = withRing(withRing(rings));
  expect(Value.Errors(Rings, more.map(ringOf))).toEqual([]);
  expect(namesOf(more)).toEqual(['canary', 'early', 'ring 2', 'rest']);
  expect(new Set(more.map(({ key }) => key)).size).toBe(4);
});

test('the last ring stays the last, and alone is no order', () => {
  const [canary, early] = ['canary', 'early'];
  const rings = withRing(canaryThenRest());
  expect(namesOf(withSwapped(rings, 0))).toEqual([early, canary, 'rest']);
  expect(namesOf(withSwapped(rings, 1))).toEqual([canary, early, 'rest']);
  expect(namesOf(withoutRing(rings, 0))).toEqual([early, 'rest']);
  expect(withoutRing(canaryThenRest(), 0)).toEqual([]);
});
