import type { Ring } from '@tidegate/protocol/rings';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { REST, ringOf } from '../testing/rollout-rings.ts';
import {
  membersDigest,
  type RingSystem,
  ringOfLate,
  ringsOf,
  shareOf,
  unrepresentedIn,
} from './ring-rules.ts';

const POLICY = '01900000-0000-7000-8000-000000000001';
const idOf = (n: number) => `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const host = (n: number, group: string | null = null, tags: string[] = []) => ({ id: idOf(n), group, tags });
const percent = (name: string, share: number): Ring =>
  ringOf(name, { members: { kind: 'percent', percent: share } });

describe('the ring of a host', () => {
  test('is the first that names its group, its tag or itself, and else the last', () => {
    const some = { kind: 'some', groups: ['web'], hosts: [idOf(3)], tags: ['ring=early'] } as const;
    const members = { ...some, groups: [...some.groups], hosts: [...some.hosts], tags: [...some.tags] };
    const ringOfHost = ringsOf(POLICY, [ringOf('web'), ringOf('early', { members }), REST]);
    expect(ringOfHost(host(1, 'web', ['ring=early']))).toBe(0);
    expect(ringOfHost(host(2, null, ['ring=early']))).toBe(1);
    expect(ringOfHost(host(3))).toBe(1);
    expect(ringOfHost(host(4, 'db', ['ring=late']))).toBe(2);
    // Hosts may not report themselves into a ring.
    const reported = { ...members, groups: [], hosts: [], tags: ['host.ring=early'] };
    const byReport = ringsOf(POLICY, [ringOf('early', { members: reported }), REST]);
    expect(byReport(host(5, null, ['host.ring=early']))).toBe(1);
  });

  test('by shares is stable, of about the size that was asked, and of no other host', () => {
    const ringOfHost = ringsOf(POLICY, [percent('5 %', 5), percent('20 %', 20), REST]);
    const rings = Array.from({ length: 20_000 }, (_, n) => ringOfHost(host(n)));
    const shares = [0, 1, 2].map((ring) => rings.filter((one) => one === ring).length / 200);
    expect(shares[0]).toBeGreaterThan(4.3);
    expect(shares[0]).toBeLessThan(5.7);
    expect(shares[1]).toBeGreaterThan(18.8);
    expect(shares[1]).toBeLessThan(21.2);
    expect(shareOf(POLICY, idOf(7))).toBe(shareOf(POLICY, idOf(7)));
    expect(shareOf(idOf(9), idOf(7))).not.toBe(shareOf(POLICY, idOf(7)));
  });

  test('by a greater share of the first ring only brings hosts in', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 49 }),
        fc.integer({ min: 0, max: 50 }),
        fc.nat(),
        (share, more, n) => {
          const before = ringsOf(POLICY, [percent('first', share), REST])(host(n));
          const after = ringsOf(POLICY, [percent('first', share + more), REST])(host(n));
          if (before === 0) expect(after).toBe(0);
        },
      ),
    );
  });

  test('that joins late is the last, or its own where it was there and its ring is not past', () => {
    expect(ringOfLate(0, { current: 1, last: 3, isNew: false })).toBe(3);
    expect(ringOfLate(1, { current: 1, last: 3, isNew: false })).toBe(1);
    expect(ringOfLate(2, { current: 1, last: 3, isNew: false })).toBe(2);
    expect(ringOfLate(0, { current: 0, last: 3, isNew: true })).toBe(3);
  });
});

test('an order of rings is told by who is in which, not by gates or names', () => {
  const rings = [ringOf('web'), percent('5 %', 5), REST];
  expect(membersDigest([{ ...ringOf('web'), name: 'other', gate: null }, percent('five', 5), REST])).toBe(
    membersDigest(rings),
  );
  expect(membersDigest([percent('5 %', 5), ringOf('web'), REST])).not.toBe(membersDigest(rings));
  expect(membersDigest([ringOf('db'), percent('5 %', 5), REST])).not.toBe(membersDigest(rings));
});

test('systems that no host of the first ring has are named, the largest first', () => {
  const system = (ring: number, osId: string, hosts: number, arch = 'amd64'): RingSystem => ({
    ...{ ring, osId, osVersion: '12', arch, hosts },
  });
  const systems = [
    ...[system(0, 'debian', 2), system(1, 'debian', 10), system(0, 'rocky', 0)],
    ...[system(1, 'rocky', 3), system(2, 'rocky', 4), system(2, 'debian', 9, 'arm64')],
  ];
  expect(unrepresentedIn(systems)).toEqual([
    { os_id: 'debian', os_version: '12', arch: 'arm64', hosts: 9 },
    { os_id: 'rocky', os_version: '12', arch: 'amd64', hosts: 7 },
  ]);
});
