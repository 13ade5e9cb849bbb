import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTally, FIGURES } from './figure-rules.ts';

const days = { of: 'updates', where: { outcome: 'installed' }, member: 'days' };

function counted(lines: readonly object[], figures: Parameters<typeof createTally>[0]) {
  const tally = createTally(figures);
  lines.forEach((line, i) => {
    tally.take('updates', line, `updates/0001.ndjson:${i + 1}`);
  });
  return tally.result();
}

test('lines count by their members, and the first of them is named', () => {
  const lines = [
    { outcome: 'waiting', days: 9 },
    { outcome: 'installed', days: 3 },
    { event: { type: 'A' } },
  ];
  const figures = counted(lines, [
    { ...days, id: 'n', how: 'count', member: null },
    { ...days, id: 'range', where: { days: [4, 9] }, how: 'count', member: null },
    { ...days, id: 'nested', where: { 'event.type': 'A' }, how: 'count', member: null },
    { ...days, id: 'elsewhere', of: 'events', how: 'count', member: null },
    { ...days, id: 'max', where: {}, how: 'max' },
    { ...days, id: 'nothing', where: { outcome: 'x' }, how: 'median' },
  ]);
  expect(figures.map(({ id, value, first }) => [id, value, first])).toEqual([
    ['n', 1, 'updates/0001.ndjson:2'],
    ['range', 1, 'updates/0001.ndjson:1'],
    ['nested', 1, 'updates/0001.ndjson:3'],
    ['elsewhere', 0, null],
    ['max', 9, 'updates/0001.ndjson:1'],
    ['nothing', null, null],
  ]);
});

test('percentiles are the nearest rank of the sorted values', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(400), { minLength: 1, maxLength: 60 }), (values) => {
      const lines = values.map((value) => ({ outcome: 'installed', days: value }));
      const [median, p90] = counted(lines, [
        { ...days, id: 'median', how: 'median' },
        { ...days, id: 'p90', how: 'p90' },
      ]);
      const sorted = values.toSorted((a, b) => a - b);
      expect(median?.value).toBe(sorted[Math.ceil(values.length * 0.5) - 1]);
      expect(p90?.value).toBe(sorted[Math.ceil(values.length * 0.9) - 1]);
    }),
  );
});

test('every number of the report has one name', () => {
  const ids = FIGURES.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
});
