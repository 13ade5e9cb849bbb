import { expect, test } from 'vitest';
import { isVersioned, packagesOf } from './sums-rules.ts';

const HEX = 'a'.repeat(64);
const DEB = 'tidegate-agent_1.2.3_linux-x64.deb';

test('the packages are those whose names say so', () => {
  const paths = [DEB, 'apt/dists/stable/InRelease', 'release.pem'];
  expect(packagesOf(new Map(paths.map((path) => [path, HEX])))).toEqual([
    { path: DEB, version: '1.2.3', target: 'linux-x64', format: 'deb', sha256: HEX },
  ]);
});

test.each([
  [DEB, true],
  ['tidegate-agent_1.2.3-rc.1_linux-arm64.tar.gz', true],
  ['apt/dists/stable/Release', false],
  ['release.pem', false],
])('whether the bytes of %s never change: %s', (path, versioned) => {
  expect(isVersioned(path)).toBe(versioned);
});
