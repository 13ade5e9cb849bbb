import type { PlanAction } from '@tidegate/protocol/plan';
import { expect, test } from 'vitest';
import { planDifference } from './plan-difference.ts';

const lib: PlanAction = { action: 'upgrade', name: 'lib', arch: 'all', from_version: '1', to_version: '2' };
const demo: PlanAction = {
  action: 'upgrade',
  name: 'demo',
  arch: 'amd64',
  from_version: '1',
  to_version: '2',
};
const gone: PlanAction = { action: 'remove', name: 'old', arch: 'all', from_version: '1' };
const approved = [lib, demo, gone];

test('the same set in another order is no difference, whatever the artifacts and origins', () => {
  const artifact = { filename: 'x', url: 'http://x', size_bytes: 1 };
  expect(
    planDifference([{ ...lib, artifact, origin: 'a' }, demo], [demo, { ...lib, origin: 'b' }]),
  ).toBeNull();
});

test.each([
  ['one more', [...approved, { ...lib, name: 'new' }], 'it would also upgrade new:all from 1 to 2'],
  ['one fewer', [lib, demo], 'it would not remove old:all from 1'],
  ['nothing at all', [], 'it would not upgrade lib:all from 1 to 2, and 2 more'],
  ['another target version', [lib, { ...demo, to_version: '3' }, gone], 'from 1 to 3 where to upgrade demo'],
  ['another start version', [lib, { ...demo, from_version: '0' }, gone], 'from 0 to 2 where to upgrade demo'],
  ['no start version', [lib, { ...demo, from_version: undefined }, gone], 'upgrade demo:amd64 to 2 where'],
  ['another act', [lib, { ...demo, action: 'downgrade' }, gone], 'it would downgrade demo:amd64'],
  [
    'a removal in place of an upgrade',
    [lib, { ...gone, name: 'demo', arch: 'amd64' }, gone],
    'it would remove demo',
  ],
  ['another architecture', [lib, { ...demo, arch: 'i386' }, gone], 'it would also upgrade demo:i386'],
  ['a package twice', [lib, lib, demo, gone], 'names a package twice'],
] as [string, PlanAction[], string][])('%s is a difference', (_, simulated, sentence) => {
  expect(planDifference(approved, simulated)).toContain(sentence);
});

test('an action that the host has reached may be missing, and nothing else', () => {
  expect(planDifference(approved, [demo], [lib, gone])).toBeNull();
  expect(planDifference(approved, [], approved)).toBeNull();
  expect(planDifference(approved, [demo], [lib])).toContain('it would not remove old:all');
  expect(planDifference(approved, [demo, { ...lib, from_version: '1.5' }], [lib, gone])).toContain(
    'it would upgrade lib:all from 1.5 to 2 where',
  );
  expect(planDifference(approved, [demo, { ...lib, name: 'new' }], [lib, gone])).toContain(
    'also upgrade new',
  );
});
