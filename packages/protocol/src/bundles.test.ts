import { expect, test } from 'vitest';
import { bundleFaults, bundlersOf } from './bundles.ts';
import type { PlanAction } from './plan.ts';

const artifact = {
  filename: 'kit-1.1.0.tgz',
  url: 'https://r.test/kit.tgz',
  size_bytes: 9,
  sha512: 'a'.repeat(128),
};
const kit: PlanAction = {
  action: 'upgrade',
  name: 'kit',
  arch: '/p',
  from_version: '1.0.0',
  to_version: '1.1.0',
  artifact,
};
const inner: PlanAction = {
  ...{
    action: 'install',
    name: 'inner',
    arch: '/p//node_modules/kit/node_modules/inner',
    to_version: '2.0.0',
  },
  ...{ source_name: 'kit', source_version: '1.1.0', artifact },
};
const { source_name: _, ...nameless } = inner;
const { source_version: __, ...versionless } = inner;

test('a package inside the file of another package of the plan is bundled in it', () => {
  const again = { ...inner, name: 'deeper' };
  const bundlers = bundlersOf({ ecosystem: 'npm', actions: [inner, kit, again] });
  expect([...bundlers]).toEqual([
    [inner, kit],
    [again, kit],
  ]);
  expect(bundleFaults({ ecosystem: 'npm', actions: [inner, kit] })).toEqual([]);
});

test('apt source and binary packages are not bundles', () => {
  expect(bundlersOf({ ecosystem: 'apt', actions: [kit, inner] }).size).toBe(0);
  expect(bundleFaults({ ecosystem: 'apt', actions: [inner] })).toEqual([]);
});

test.each<[string, PlanAction[], number]>([
  ['a package that is not in the plan', [inner], 0],
  ['another version of it', [{ ...kit, to_version: '1.1.1' }, inner], 1],
  ['another hash', [kit, { ...inner, artifact: { ...artifact, sha512: 'b'.repeat(128) } }], 1],
  ['a hash of another kind', [kit, { ...inner, artifact: { ...artifact, sha256: 'b'.repeat(64) } }], 1],
  ['another size', [kit, { ...inner, artifact: { ...artifact, size_bytes: 8 } }], 1],
  ['another address', [kit, { ...inner, artifact: { ...artifact, url: 'https://r.test/x' } }], 1],
  ['another name of the file', [kit, { ...inner, artifact: { ...artifact, filename: 'x.tgz' } }], 1],
  ['itself', [{ ...inner, source_name: 'inner', source_version: '2.0.0' }], 0],
  ['one that is bundled itself', [{ ...kit, source_name: 'kit', source_version: '1.1.0' }, inner], 1],
  ['a version without a name', [kit, nameless], 1],
  ['a name without a version', [kit, versionless], 1],
  ['a removal', [{ action: 'remove', name: 'kit', from_version: '1.1.0' }, inner], 1],
])('a claim to be bundled in %s is a fault, and exempts from nothing', (_title, actions, at) => {
  expect(bundlersOf({ ecosystem: 'npm', actions }).size).toBe(0);
  const faults = bundleFaults({ ecosystem: 'npm', actions });
  expect(faults.map(({ path }) => path)).toContain(`/actions/${at}/source_name`);
});
