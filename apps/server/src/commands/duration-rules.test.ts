import fc from 'fast-check';
import { expect, test } from 'vitest';
import { percentile } from './duration-rules.ts';

test.each<[number[], number, number]>([
  [[], 0.95, 0],
  [[7], 0.95, 7],
  [[3, 1, 2], 0.5, 2],
  [Array.from({ length: 20 }, (_, i) => i + 1), 0.95, 19],
  [Array.from({ length: 19 }, (_, i) => i + 1), 0.95, 19],
])('of %j, the percentile for the share %d is %d', (values, share, expected) => {
  expect(percentile(values, share)).toBe(expected);
});

test('at least the share of the values is no greater, and with the next smaller one it would not be', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(50), { minLength: 1 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (values, share) => {
        const found = percentile(values, share);
        const upTo = (most: number) => values.filter((one) => one <= most).length;
        expect(upTo(found)).toBeGreaterThanOrEqual(share * values.length);
        expect(values.filter((one) => one < found).length).toBeLessThan(share * values.length);
      },
    ),
  );
});
