import { expect, test } from 'vitest';
import { planFaults } from './plan.ts';
import { inverseOf, takesBack, wayBackOf } from './rollbacks.ts';

const back = { size_bytes: 1, sha256: 'a'.repeat(64) };
const artifact = { filename: 'a', url: 'http://a/', ...back };
const up = {
  action: 'upgrade',
  name: 'a',
  arch: 'all',
  from_version: '1',
  to_version: '2',
  artifact,
} as const;
const down = { ...up, action: 'downgrade', from_version: '2', to_version: '1' } as const;
const added = { action: 'install', name: 'b', to_version: '1', artifact } as const;
const gone = { action: 'remove', name: 'c', from_version: '3' } as const;

test('the opposite of each action brings back what was, and twice the opposite is the same', () => {
  expect(inverseOf([up, down, added, gone])).toEqual([
    { action: 'downgrade', name: 'a', arch: 'all', from_version: '2', to_version: '1' },
    { action: 'upgrade', name: 'a', arch: 'all', from_version: '1', to_version: '2' },
    { action: 'remove', name: 'b', from_version: '1' },
    { action: 'install', name: 'c', to_version: '3' },
  ]);
  const once = inverseOf([up, down, added, gone]);
  expect(inverseOf(inverseOf(once))).toEqual(once);
});

test.each([
  ['its own downgrade', { name: 'a', to_version: '1' }, [down, gone], true],
  ['an upgrade', { name: 'a', to_version: '2' }, [up], false],
  ['an upgrade that takes a dependency back', { name: 'b', to_version: '1' }, [added, down], false],
  ['the downgrade to another version', { name: 'a', to_version: '1.5' }, [down], false],
  ['the downgrade of another package', { name: 'z', to_version: '1' }, [down], false],
])('an approval with %s: takes back %s', (_, update, actions, expected) => {
  expect(takesBack({ updates: [update], actions })).toBe(expected);
});

test('a package that npm installs anew in its version is installed anew by the rollback', () => {
  const anew = { action: 'install' as const, name: 'a', from_version: '1', to_version: '1' };
  expect(inverseOf([anew])).toEqual([anew]);
});

test('an approval takes back only if all of its updates do', () => {
  const updates = [
    { name: 'a', to_version: '1' },
    { name: 'b', to_version: '1' },
  ];
  expect(takesBack({ updates, actions: [down, added] })).toBe(false);
});

test.each([
  [[{ ...up, back }], 'complete', 0],
  [[added], 'complete', 0],
  [[{ ...up, back }, gone], 'partial', 1],
  [[up, gone, added], 'none', 2],
] as const)('%j: %s', (actions, kind, missing) => {
  const wayBack = wayBackOf(actions);
  expect([wayBack.kind, wayBack.missing_count, wayBack.missing.length]).toEqual([kind, missing, missing]);
});

test('the first fifty packages without a way back are named, and all are counted', () => {
  const actions = Array.from({ length: 51 }, (_, n) => ({ ...up, name: `a${n}` }));
  const { missing, missing_count } = wayBackOf(actions);
  expect([missing.length, missing_count]).toEqual([50, 51]);
});

test('only what is replaced has an old file', () => {
  const plan = { resolved_at: '2026-11-21T09:00:00Z', actions: [{ ...added, back }] };
  expect(planFaults(plan).map(({ path }) => path)).toEqual(['/actions/0/back']);
  expect(planFaults({ ...plan, actions: [{ ...up, back }] })).toEqual([]);
});
