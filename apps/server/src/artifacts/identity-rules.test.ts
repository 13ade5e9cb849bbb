import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { identityKey, type Sighting, sightingsOf } from './identity-rules.ts';

const DEBIAN = { osId: 'debian', osArch: 'amd64' };
const SHA256 = 'a'.repeat(64);
const SHA512 = 'b'.repeat(128);

function action(fields: Partial<PlanAction> = {}, filename = 'x.pkg'): PlanAction {
  const artifact = { filename, url: 'https://m.example/x.pkg', size_bytes: 1, sha256: SHA256 };
  return { action: 'upgrade', name: 'x', to_version: '1.0', artifact, ...fields };
}

function only(sightings: readonly Sighting[]): string {
  expect(sightings).toHaveLength(1);
  return sightings.map(identityKey).join();
}

describe('the identity of an artifact across the fleet', () => {
  test.each([
    ['npm', action({ arch: '/srv/app' }), action({ arch: '/srv/other' }), true],
    ['npm', action(), action({ to_version: '1.1' }), false],
    ['npm', action(), action({ name: 'X' }), false],
    ['pypi', action({ name: 'Foo.Bar' }, 'f.whl'), action({ name: 'foo-bar' }, 'f.whl'), true],
    ['pypi', action({}, 'x-manylinux.whl'), action({}, 'x-macosx.whl'), false],
    ['apt', action({ arch: 'amd64' }), action({}), true],
    ['apt', action({ arch: 'amd64' }), action({ arch: 'arm64' }), false],
    ['apt', action({ origin: 'a' }, 'a.deb'), action({ origin: 'b' }, 'b.deb'), true],
  ] as const)('%s: %j and %j are the same: %s', (ecosystem, a, b, same) => {
    const [first, second] = [a, b].map((one) =>
      only(sightingsOf({ ecosystem, host: DEBIAN, actions: [one] })),
    );
    expect(first === second).toBe(same);
  });

  test('apt and dnf packages belong to their distribution, npm and PyPI packages to all systems', () => {
    for (const ecosystem of ['apt', 'dnf', 'npm', 'pypi'] as const) {
      const [debian, ubuntu] = ['debian', 'ubuntu'].map((osId) =>
        only(sightingsOf({ ecosystem, host: { ...DEBIAN, osId }, actions: [action()] })),
      );
      expect(debian === ubuntu).toBe(ecosystem === 'npm' || ecosystem === 'pypi');
    }
  });

  test.each([
    ['apt', 2],
    ['dnf', 2],
    ['npm', 1],
    ['pypi', 1],
  ] as const)(
    'of %s the replaced file counts only where it is surely that of the package',
    (ecosystem, count) => {
      const replacing = action({ from_version: '0.9', back: { size_bytes: 1, sha256: 'c'.repeat(64) } });
      expect(sightingsOf({ ecosystem, host: DEBIAN, actions: [replacing] })).toHaveLength(count);
    },
  );

  test('each kind of hash counts separately, a removal not at all, and a duplicate once', () => {
    const both = action({
      artifact: { filename: 'x', url: 'u', size_bytes: 1, sha256: SHA256, sha512: SHA512 },
    });
    const removal: PlanAction = { action: 'remove', name: 'y' };
    const found = sightingsOf({ ecosystem: 'npm', host: DEBIAN, actions: [both, { ...both }, removal] });
    expect(found.map(({ algorithm, hash }) => [algorithm, hash])).toEqual([
      ['sha256', SHA256],
      ['sha512', SHA512],
    ]);
  });

  test('a package inside another npm package’s file has that one’s identity; one that only claims so keeps its own (decision 0011)', () => {
    const bundled = action({ name: 'inner', to_version: '3.0', source_name: 'x', source_version: '1.0' });
    const named = (ecosystem: 'npm' | 'apt', actions: PlanAction[]) =>
      sightingsOf({ ecosystem, host: DEBIAN, actions }).map(({ name, version }) => `${name} ${version}`);
    expect(named('npm', [bundled, action()])).toEqual(['x 1.0']);
    expect(named('npm', [bundled])).toEqual(['inner 3.0']);
    expect(named('npm', [bundled, action({ to_version: '1.1' })])).toEqual(['inner 3.0', 'x 1.1']);
    // For apt, `source` means something else.
    expect(named('apt', [bundled, action()])).toEqual(['inner 3.0', 'x 1.0']);
  });

  test.each([
    ['https://user:secret@m.example/p/x.deb?token=secret#secret', 'https://m.example/p/x.deb'],
    ['https://m.example:8443/p/x.deb', 'https://m.example:8443/p/x.deb'],
    ['file:///var/cache/x.deb', 'file:///var/cache/x.deb'],
    ['not a url with a secret', ''],
  ])('credentials of a mirror are not stored: %s', (url, kept) => {
    const artifact = { filename: 'x', url, size_bytes: 1, sha256: SHA256 };
    const [found] = sightingsOf({ ecosystem: 'apt', host: DEBIAN, actions: [action({ artifact })] });
    expect(found?.url).toBe(kept);
  });
});
