import { wayBackOf } from '@tidegate/protocol/rollbacks';
import { expect, test } from 'vitest';
import { offersRollback, wayBackText } from './way-back-rules.ts';

const back = { size_bytes: 1, sha256: 'a'.repeat(64) };
const upgrade = (name: string, fields: object = {}) => ({
  ...{ action: 'upgrade' as const, name, from_version: '1', to_version: '2', ...fields },
});
const added = { action: 'install' as const, name: 'new', to_version: '2' };

test.each([
  [
    [upgrade('a', { back }), upgrade('b', { back }), added],
    'complete, the old files of all packages can be had',
  ],
  [[added], 'complete, the old files of all packages can be had'],
  [[upgrade('a', { back }), upgrade('b')], 'partial, the old files of b 1 cannot be had'],
  [
    [upgrade('a', { back }), ...['b', 'c', 'd', 'e', 'f'].map((name) => upgrade(name))],
    'partial, the old files of b 1, c 1, d 1 and 2 other packages cannot be had',
  ],
  [[upgrade('a'), added], 'none, the old files cannot be had'],
] as const)('%j: %s', (actions, text) => {
  expect(wayBackText(wayBackOf(actions))).toBe(text);
});

test('a plan that is not known is no way back', () => {
  expect(wayBackText(null)).toMatch(/^none known/);
});

test.each([
  ['installed', false, true],
  ['failed', false, true],
  ['pending', false, false],
  ['approved', false, false],
  ['installed', true, false],
] as const)('an update that is %s, out of band %s, offers to be undone: %s', (state, outOfBand, expected) => {
  expect(offersRollback({ state, out_of_band: outOfBand })).toBe(expected);
});
