import { type HostProbes, LOOK_MAX_AGE_MS as ON_SERVER, type ProbesState } from '@tidegate/protocol/probes';
import { expect, test } from 'vitest';
import { isTooOld, LOOK_MAX_AGE_MS, probesText, shownState } from './probe-rules.ts';

const NOW = Date.parse('2026-11-21T09:00:00Z');
const DB = { name: 'db', state: 'unknown', last_state: 'green', since: '2026-11-01T00:00:00Z' } as const;
const at = (ageMs: number) => new Date(NOW - ageMs).toISOString();

test('a look counts as long as on the server', () => {
  expect(LOOK_MAX_AGE_MS).toBe(ON_SERVER);
});

test.each<[string | null, boolean]>([
  [null, true],
  [at(-60_000), false], // a browser's clock may be behind the server's
  [at(0), false],
  [at(LOOK_MAX_AGE_MS), false],
  [at(LOOK_MAX_AGE_MS + 1), true],
  ['not a time', true],
])('a look of %s: too old is %s', (time, isOld) => {
  expect(isTooOld(time, NOW)).toBe(isOld);
});

test.each<[ProbesState, ProbesState]>([
  ['green', 'unknown'],
  ['none', 'unknown'],
  ['unknown', 'unknown'],
  ['red', 'red'],
])('%s is shown as it is, and as %s once the look is too old', (state, old) => {
  expect([shownState(state, false), shownState(state, true)]).toEqual([state, old]);
});

test.each<[string, Partial<HostProbes>, RegExp]>([
  ['has not reported', { at: null, state: 'unknown' }, /^Not known: the host has not reported/],
  ['named none', { state: 'none' }, /^Root has named no probes/],
  ['named none long ago', { state: 'unknown', at: at(LOOK_MAX_AGE_MS + 1) }, /^Not known: .* too long ago/],
  [
    'looked long ago',
    { state: 'unknown', at: at(LOOK_MAX_AGE_MS + 1), probes: [DB] },
    /^Not known: .* too long ago/,
  ],
  [
    'was red long ago',
    { state: 'red', at: at(LOOK_MAX_AGE_MS + 1), probes: [DB] },
    /^Red at the last run\. That is too long ago/,
  ],
])('a host that %s', (_, host, text) => {
  expect(probesText({ state: 'green', since: at(0), at: at(0), probes: [], ...host }, NOW)).toMatch(text);
});

test('the states are counted, the worst first', () => {
  const probes = (['green', 'red', 'green', 'unknown'] as const).map((state, n) => ({
    ...{ name: `p${n}`, state, last_state: state, since: at(0) },
  }));
  expect(probesText({ state: 'red', since: at(0), at: at(0), probes }, NOW)).toBe(
    '1 red, 1 unknown, 2 green.',
  );
});
