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
    'possible, the old files of all packages are available',
  ],
  [[added], 'possible, the old files of all packages are available'],
  [[upgrade('a', { back }), upgrade('b')], 'possible in part, the old files of b 1 are not available'],
  [
    [upgrade('a', { back }), ...['b', 'c', 'd', 'e', 'f'].map((name) => upgrade(name))],
    'possible in part, the old files of b 1, c 1, d 1 and 2 other packages are not available',
  ],
  [[upgrade('a'), added], 'not possible, the old files are not available'],
] as const)('%j: %s', (actions, text) => {
  expect(wayBackText(wayBackOf(actions))).toBe(text);
});

test('a plan that is not known is no way back', () => {
  expect(wayBackText(null)).toMatch(/^not known/);
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
