import { expect, test } from 'vitest';
import { type DifferingClaim, judgeFlood } from './flood-rules.ts';

const HOUR_MS = 3_600_000;
const NOW = 1_000 * 24 * HOUR_MS;

function claims(count: number, fields: Partial<DifferingClaim> = {}): DifferingClaim[] {
  return Array.from({ length: count }, (_, i) => ({
    ...{ artifact: `p${i}`, seenAtMs: NOW, vindicated: false, opponents: [], ...fields },
  }));
}

test.each([
  ['five in a day', claims(5), null],
  ['six in a day', claims(6), { day: 6, month: 6 }],
  ['six, of which one proved right', [...claims(5), ...claims(1, { vindicated: true })], null],
  ['six in two days', [...claims(3), ...claims(3, { seenAtMs: NOW - 25 * HOUR_MS })], null],
  ['20 in 30 days', claims(20, { seenAtMs: NOW - 48 * HOUR_MS }), null],
  ['21 in 30 days', claims(21, { seenAtMs: NOW - 48 * HOUR_MS }), { day: 0, month: 21 }],
  ['100 before that', claims(100, { seenAtMs: NOW - 31 * 24 * HOUR_MS }), null],
])('%s', (_what, differing, verdict) => {
  const judged = judgeFlood(differing, NOW);
  expect(judged && { day: judged.day, month: judged.month }).toEqual(verdict);
});

test.each([
  ['one that it alone contradicts', [6], ['o0']],
  ['two that say different things', [6, 6], ['o0', 'o1']],
  ['none that it contradicts rarely', [6, 5], ['o0']],
  ['nobody, where more than the word of a few stands against it', [0], []],
])('contested hosts: %s', (_what, times, named) => {
  const differing = times.flatMap((count, i) => claims(count, { opponents: [`o${i}`] }));
  expect(judgeFlood([...differing, ...claims(6)], NOW)?.opponents).toEqual(named);
});

test('101 hashes of one artifact contest one artifact', () => {
  const differing = claims(101, { artifact: 'p', opponents: ['o'] });
  expect(judgeFlood(differing, NOW)).toMatchObject({ day: 101, opponents: [] });
});
