import type { ProbeResult } from '@tidegate/protocol/probes';
import { expect, test } from 'vitest';
import { beforeText, tookText } from './around-rules.ts';

const AT = '2026-11-21T09:00:00Z';
const probes = (...states: ProbeResult['state'][]) => states.map((state, n) => ({ name: `p${n}`, state }));

test.each([
  [0, 'took less than 1 s'],
  [1, 'took 1 s'],
  [59, 'took 59 s'],
  [60, 'took 1 min'],
  [125, 'took 2 min 5 s'],
  [2_700, 'took 45 min'],
])('%i seconds: %s', (seconds, text) => {
  expect(tookText(seconds)).toBe(text);
});

test.each([
  [{}, 'Nobody had run the probes before it.'],
  [{ before: { at: AT, probes: [] } }, 'Root had named no probes.'],
  [
    { before: { at: AT, probes: probes('green', 'red', 'green', 'unknown') } },
    'Probes before it: 1 red, 1 unknown, 2 green.',
  ],
])('%j', (around, text) => {
  expect(beforeText(around)).toBe(text);
});
