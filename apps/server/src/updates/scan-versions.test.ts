import { expect, test } from 'vitest';
import { closedByScan, scanFacts } from './scan-rules.ts';

const update = { name: 'a', arch: '', available_version: '2.0.0', state: 'pending' } as const;

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
  [['1.0.0'], ['2.0.0', '2.2.0', 'odd', '2.1.0'], 'superseded_by: 2.2.0'],
])('of many versions the greatest closes an update, in any company: %j, %j', (installed, offered, reason) => {
  expect(closedByScan(update, factsOf(installed, offered))).toEqual({ kind: 'superseded', reason });
});

test.each([
  [['1.0.0', '2.0.0-rc.1'], []],
  [['not a version'], ['nor this']],
])('versions that are not newer close nothing: %j, %j', (installed, offered) => {
  expect(closedByScan(update, factsOf(installed, offered))).toBeNull();
});

test('the version itself counts as installed beside a newer one', () => {
  expect(closedByScan(update, factsOf(['2.0.0', '3.0.0']))).toEqual({ kind: 'installed' });
});
