import { expect, test } from 'vitest';
import { missedTargets, type PlanAction, planFaults, targetFault } from './plan.ts';

const resolved_at = '2026-11-21T09:00:00Z';
const artifact = { filename: 'a.deb', url: 'http://mirror/a.deb', size_bytes: 1, sha256: '0'.repeat(64) };
const upgrade: PlanAction = { action: 'upgrade', name: 'a', from_version: '1', to_version: '2', artifact };
const { artifact: _, ...bare } = upgrade;
const { sha256: __, ...unhashed } = artifact;

test.each<[string, PlanAction[], [string, string][]]>([
  ['an upgrade with its artifact', [upgrade], []],
  ['a removal without one', [{ action: 'remove', name: 'b', from_version: '1' }], []],
  ['a digest of npm', [{ ...upgrade, artifact: { ...unhashed, sha512: '0'.repeat(128) } }], []],
  [
    'two architectures of one package',
    [
      { ...upgrade, arch: 'amd64' },
      { ...upgrade, arch: 'i386' },
    ],
    [],
  ],
  [
    'an upgrade without artifact',
    [bare],
    [['/actions/0/artifact', 'is required for everything but a removal']],
  ],
  [
    'an artifact without digest',
    [upgrade, { ...upgrade, name: 'b', artifact: unhashed }],
    [['/actions/1/artifact', 'needs sha256 or sha512']],
  ],
  [
    'a removal with an artifact',
    [{ action: 'remove', name: 'b', artifact }],
    [['/actions/0/artifact', 'a removal has no artifact']],
  ],
  [
    'an installation without version',
    [{ action: 'install', name: 'b', artifact }],
    [['/actions/0/to_version', 'is required']],
  ],
  ['one file for two packages', [upgrade, { ...upgrade, name: 'b' }], []],
  ...[
    { sha256: 'b'.repeat(64) },
    { size_bytes: 2 },
    { url: 'http://other/a.deb' },
    { sha512: 'b'.repeat(128) },
  ].map((other): [string, PlanAction[], [string, string][]] => [
    `two artifacts under one name, which differ in ${Object.keys(other)}`,
    [upgrade, { ...upgrade, name: 'b', artifact: { ...artifact, ...other } }],
    [['/actions/1/artifact', '"a.deb" is the name of another artifact']],
  ]),
  [
    'one package twice, as upgrade and removal',
    [upgrade, { action: 'remove', name: 'a' }],
    [['/actions/1', '"a:" stands in the plan twice']],
  ],
])('a plan with %s', (_title, actions, faults) => {
  expect(planFaults({ resolved_at, actions }).map((f) => [f.path, f.message])).toEqual(faults);
});

test.each([
  ['the package at the version', { name: 'a', to_version: '2' }, null],
  ['another version', { name: 'a', to_version: '3' }, '/actions'],
  ['another package', { name: 'b', to_version: '2' }, '/actions'],
])('a plan is for its own update: %s', (_what, target, path) => {
  expect(targetFault({ actions: [upgrade] }, target)?.path ?? null).toBe(path);
});

test.each<[string, string | undefined, string | undefined, boolean]>([
  ['the same architecture', 'amd64', 'amd64', true],
  ['another architecture', 'amd64', 'i386', false],
  ['an update without one', undefined, 'amd64', true],
  ['an action without one', 'amd64', undefined, true],
  ['a move to all', 'amd64', 'all', true],
  ['a move from noarch', 'noarch', 'x86_64', true],
  ['another place', '/srv/a', '/srv/b', false],
])('missedTargets compares places and architectures: %s', (_, wanted, planned, reaches) => {
  const target = { name: 'a', to_version: '2', ...(wanted !== undefined && { arch: wanted }) };
  const action = { ...upgrade, ...(planned !== undefined && { arch: planned }) };
  expect(missedTargets({ actions: [action] }, [target])).toEqual(reaches ? [] : [target]);
});

test('missedTargets returns those that no action brings, in the given order', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ name, to_version: '2' }));
  expect(
    missedTargets(
      { actions: [upgrade] },
      [c, a, b].flatMap((one) => one ?? []),
    ),
  ).toEqual([c, b]);
});
