import type { ProbeResult } from '@tidegate/protocol/probes';
import { expect, test } from 'vitest';
import { judgeFitness, LOOK_MAX_AGE_MS } from './fitness-rules.ts';

const NOW_MS = Date.parse('2026-11-25T09:00:00Z');
const web = (state: ProbeResult['state']): ProbeResult => ({ name: 'web', kind: 'http', state });
const failed: ProbeResult = { name: 'units', kind: 'failed_units', state: 'red' };

test.each<[string, readonly string[] | null, ProbeResult[] | null, number, boolean]>([
  ['root has named none', [], null, 0, true],
  ['all are green', ['web'], [web('green')], 0, true],
  ['one is red', ['web'], [web('red')], 0, false],
  ['one is unknown', ['web'], [web('unknown')], 0, false],
  ['nobody has looked', ['web'], null, 0, false],
  ['the look is as old as one may be', ['web'], [web('green')], LOOK_MAX_AGE_MS, true],
  ['the look is too old', ['web'], [web('green')], LOOK_MAX_AGE_MS + 1, false],
  ['the look is from the future', ['web'], [web('green')], -LOOK_MAX_AGE_MS - 1, false],
  ['the look has not all of them', ['db', 'web'], [web('green')], 0, false],
  ['the folder cannot be trusted', null, [web('green')], 0, false],
  ['units have failed since the last installation', ['units', 'web'], [failed, web('green')], 0, true],
  ['a probe that root removed is still in the look', [], [web('red')], 0, true],
])('%s', (_, names, probes, ageMs, isFit) => {
  const at = new Date(NOW_MS - ageMs).toISOString();
  const report = probes === null ? null : { at, probes };
  expect(judgeFitness({ names, report, nowMs: NOW_MS }).ok).toBe(isFit);
});
