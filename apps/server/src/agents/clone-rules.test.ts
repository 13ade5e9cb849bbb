import { describe, expect, test } from 'vitest';
import {
  alternatingAddresses,
  judgeSign,
  type Observation,
  RAISED_EVERY_MS,
  returnedBoot,
} from './clone-rules.ts';

/** `A@3` is boot A, observed 3 s after the start; the address depends on the letter. */
function seen(text: string): Observation {
  const [name = '', seconds] = text.split('@');
  return { atMs: Number(seconds) * 1_000, bootId: name, address: `address-${name}` };
}
const names = (evidence: readonly Observation[] | null) =>
  evidence?.map(({ bootId }) => bootId).join('') ?? null;

describe('T3: signs of a clone', () => {
  test.each([
    [[], 'A@1', null],
    [['A@1'], 'B@2', null], // a restart
    [['A@1', 'B@2'], 'C@3', null], // another restart
    [['A@1', 'B@2'], 'A@3', 'ABA'],
    [['B@2', 'A@1'], 'A@3', 'ABA'],
    [['A@1', 'B@2', 'C@3'], 'B@4', 'BCB'],
    [['A@1', 'B@2'], 'B@3', null], // the same boot, reported twice at one moment
    [['A@1', 'B@2'], 'A@9999999', 'ABA'], // however late: a boot id never recurs
  ])('boots %j and then %s: %s', (known, now, expected) => {
    expect(names(returnedBoot(known.map(seen), seen(now)))).toBe(expected);
  });

  test.each([
    [[], 'A@1', 60, null],
    [['A@0'], 'B@30', 60, null], // moved
    [['A@0', 'B@30'], 'A@66', 60, 'ABA'],
    [['A@0', 'B@30'], 'A@75', 60, 'ABA'],
    [['A@0', 'B@60'], 'A@120', 60, null], // one machine behind two addresses
    [['A@0', 'B@54'], 'A@108', 60, null], // with all of the jitter
    [['A@0', 'B@20'], 'C@40', 60, null],
    [['A@0', 'B@2000'], 'A@4000', 3600, 'ABA'],
  ])('addresses %j and then %s every %i s: %s', (earlier, now, intervalSeconds, expected) => {
    const evidence = alternatingAddresses(earlier.map(seen), { now: seen(now), intervalSeconds });
    expect(names(evidence)).toBe(expected);
  });

  const evidence = [seen('A@1'), seen('B@2')];
  const known = { open: true, raisedAtMs: 0, acceptedAddresses: [] };
  const closed = { ...known, open: false };
  const later = RAISED_EVERY_MS;
  const accepted = { ...closed, acceptedAddresses: ['address-A', 'address-B'] };
  test.each([
    ['the first sign', null, 'boot_id_returned', 0, { counts: true, raise: true }],
    ['one more within the hour', known, 'boot_id_returned', later - 1, { counts: true, raise: false }],
    ['one more after it', known, 'boot_id_returned', later, { counts: true, raise: true }],
    ['dismissed, within the hour', closed, 'boot_id_returned', later - 1, { counts: false, raise: false }],
    ['dismissed, and seen again later', closed, 'boot_id_returned', later, { counts: true, raise: true }],
    ['dismissed addresses', accepted, 'address_alternates', later, { counts: false, raise: false }],
    ['boots at dismissed addresses', accepted, 'boot_id_returned', later, { counts: true, raise: true }],
    [
      'one of two addresses dismissed',
      { ...accepted, acceptedAddresses: ['address-A'] },
      'address_alternates',
      later,
      { counts: true, raise: true },
    ],
  ] as const)('%s', (_, suspicion, sign, nowMs, expected) => {
    expect(judgeSign(suspicion, { sign, evidence, nowMs })).toEqual(expected);
  });
});
