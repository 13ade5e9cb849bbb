import { expect, test } from 'vitest';
import { closedByScan, scanFacts } from './scan-rules.ts';

const update = {
  ...{ name: 'a', arch: '', current_version: '1.0.0', available_version: '2.0.0', state: 'pending' },
  ...{ offers: 0, rollback_of: null },
};

function factsOf(installed: readonly string[], offered: readonly string[] = []) {
  return scanFacts({
    ...{ ecosystem: 'npm', complete: true },
    packages: installed.map((version) => ({ name: 'a', version })),
    updates: offered.map((version) => ({ name: 'a', current_version: '1.0.0', available_version: version })),
  });
}

test.each([
  [['1.0.0', '3.0.0', '2.5.0'], [], 'newer_installed: 3.0.0'],
  [['not a version', '2.1.0'], [], 'newer_installed: 2.1.0'],
  [['2.1.0', 'not a version', 'nor this'], [], 'newer_installed: 2.1.0'],
  [['1.0.0'], ['2.2.0', 'odd', '2.1.0'], 'superseded_by: 2.2.0'],
  [['1.0.0'], ['1.9.0', '1.8.0'], 'no_longer_offered'],
])('of many versions the greatest closes an update, in any company: %j, %j', (installed, offered, reason) => {
  expect(closedByScan(update, factsOf(installed, offered))).toEqual({ kind: 'superseded', reason });
});

test.each([
  [['1.0.0', '2.0.0-rc.1'], []],
  [['not a version'], ['nor this']],
])('versions that are not newer close nothing: %j, %j', (installed, offered) => {
  expect(closedByScan(update, factsOf(installed, offered))).toBeNull();
});

test.each([
  ['npm', ['2.0.0', '2.2.0', '3.0.0'], 0, null],
  ['pypi', ['2.0.0', '3.0.0'], 0, null],
  ['apt', ['2.0.0', '3.0.0'], 0, 'superseded_by: 3.0.0'],
  ['npm', ['2.2.0', '3.0.0'], 4, null],
  ['npm', ['2.2.0', '3.0.0'], 3, 'superseded_by: 3.0.0'],
] as const)('%s offers %j, the update is offered as %i: %s', (ecosystem, offered, offers, reason) => {
  const updates = offered.map((version) => ({
    ...{ name: 'a', current_version: '1.0.0', available_version: version },
    candidates: ['2.0.0', '2.2.0', '3.0.0'],
  }));
  const packages = [{ name: 'a', version: '1.0.0' }];
  const facts = scanFacts({ ecosystem, complete: true, packages, updates });
  const closure = closedByScan({ ...update, offers }, facts);
  expect(closure).toEqual(reason === null ? null : { kind: 'superseded', reason });
});

test('a smallest fix ends when the registry no longer has its version', () => {
  const offer = { name: 'a', current_version: '1.0.0', available_version: '3.0.0', candidates: ['3.0.0'] };
  const packages = [{ name: 'a', version: '1.0.0' }];
  const facts = scanFacts({ ecosystem: 'npm', complete: true, packages, updates: [offer] });
  expect(closedByScan({ ...update, offers: 4 }, facts)).toMatchObject({ kind: 'superseded' });
});

test('the version itself counts as installed beside a newer one', () => {
  expect(closedByScan(update, factsOf(['2.0.0', '3.0.0']))).toEqual({ kind: 'installed' });
});

test.each([
  ['2.0.0', 'pending', null],
  ['2.0.0', 'failed', null],
  ['1.0.0', 'pending', { kind: 'installed' }],
  ['1.0.0', 'failed', { kind: 'installed' }],
  ['3.0.0', 'pending', { kind: 'superseded', reason: 'changed_since' }],
  ['3.0.0', 'approved', { kind: 'superseded', reason: 'changed_since' }],
  ['3.0.0', 'installing', null],
])('a rollback from 2.0.0 to 1.0.0, on a host with %s, while %s: %j', (installed, state, expected) => {
  const versions = { current_version: '2.0.0', available_version: '1.0.0' };
  const rollback = { ...update, ...versions, state, rollback_of: 'token' };
  const offer = { name: 'a', current_version: installed, available_version: '4.0.0' };
  const packages = [{ name: 'a', version: installed }];
  const facts = scanFacts({ ecosystem: 'apt', complete: true, packages, updates: [offer] });
  expect(closedByScan(rollback, facts)).toEqual(expected);
});
