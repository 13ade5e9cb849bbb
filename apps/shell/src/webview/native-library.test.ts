import { describe, expect, test } from 'vitest';
import { explainLoadFault } from './load-faults.ts';
import { findNativeLibrary } from './native-library.ts';

describe('the native library', () => {
  test.each([
    ['linux', 'x64', '2.39'],
    ['linux', 'x64', '3.0'],
    ['linux', 'x64', null],
    ['darwin', 'arm64', null],
  ])('on %s %s with glibc %s is that of the package', (platform, arch, glibc) => {
    expect(findNativeLibrary({ platform, arch, glibc, cacheFolder: '/nonexistent' })).toEqual({
      kind: 'as-is',
    });
  });

  test('on another processor with an older glibc is not available, with the reason', () => {
    const found = findNativeLibrary({
      platform: 'linux',
      arch: 'arm64',
      glibc: '2.36',
      cacheFolder: '/nonexistent',
    });
    expect(found).toMatchObject({ kind: 'unknown', detail: expect.stringContaining('glibc 2.39 on arm64') });
  });
});

test.each([
  [
    'libwebkit2gtk-4.1.so.0: cannot open shared object file: No such file or directory',
    'The webview needs the package "libwebkit2gtk-4.1-0" (Debian, Ubuntu: apt install libwebkit2gtk-4.1-0): libwebkit2gtk-4.1.so.0 is missing.',
  ],
  ['libxdo.so.3: cannot open shared object file: No such file or directory', 'the package "libxdo3"'],
  ['libfoo.so.1: cannot open shared object file', 'The webview needs libfoo.so.1, which is missing'],
  [
    "/lib/libc.so.6: version `GLIBC_2.39' not found (required by x)",
    'newer C library than this system has (GLIBC_2.39)',
  ],
  ['Cannot find native binding.\nCannot find module "x"', 'run "npm ci" with Node 24'],
  ['something else\nmore', 'cannot be loaded: something else'],
])('a load failure is explained: %s', (messages, words) => {
  expect(explainLoadFault(messages)).toContain(words);
});
