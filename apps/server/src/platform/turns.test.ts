import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPace, sortInTurns } from './turns.ts';

test('sortInTurns sorts as toSorted does, and keeps the order of equal items', async () => {
  const items = fc.array(fc.record({ key: fc.nat(50), n: fc.nat() }), { maxLength: 200, size: 'max' });
  await fc.assert(
    fc.asyncProperty(items, fc.nat(60), async (some, times) => {
      // More than one run of 2,000.
      const all = Array.from({ length: times }, () => some).flat();
      const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(await sortInTurns(all, compare)).toEqual(all.toSorted(compare));
    }),
    { numRuns: 50 },
  );
});

test('a pace rests for three times as long as each piece took, and not for long', async () => {
  let nowMs = 1_000;
  const rests: number[] = [];
  const rest = async (ms: number) => {
    rests.push(ms);
    nowMs += ms;
  };
  const pace = createPace({ nowMs: () => nowMs, rest });
  for (const tookMs of [7, 0, 300, 7]) {
    nowMs += tookMs;
    await pace();
  }
  expect(rests).toEqual([21, 0, 50, 21]);
});
