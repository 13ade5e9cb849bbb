import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TarEntry } from '@tidegate/support/tar';
import { tmpDir } from '@tidegate/testkit/tmp';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tarOf } from './tar.ts';

const TIME = 1_700_000_000;

test('tar lists what the archive was made of: kinds, modes, owners, sizes, time, links', () => {
  const entries: TarEntry[] = [
    { path: 'data', kind: 'folder', mode: 0o700, owner: 65_532 },
    { path: 'bin', kind: 'link', mode: 0o777, owner: 0, to: 'usr/bin' },
    { path: 'usr/bin/node', kind: 'file', mode: 0o755, owner: 0, bytes: Buffer.from('node') },
    { path: 'tmp', kind: 'folder', mode: 0o1777, owner: 0 },
  ];
  expect(list(tarOf(entries, TIME))).toEqual([
    'lrwxrwxrwx 0/0 0 2023-11-14 22:13 bin -> usr/bin',
    'drwx------ 65532/65532 0 2023-11-14 22:13 data/',
    'drwxrwxrwt 0/0 0 2023-11-14 22:13 tmp/',
    '-rwxr-xr-x 0/0 4 2023-11-14 22:13 usr/bin/node',
  ]);
});

const name = fc.stringMatching(/^[a-z0-9é._-]{1,60}$/).filter((text) => !/^\.+$/.test(text));
const file = fc.record({
  path: fc.array(name, { minLength: 1, maxLength: 3 }),
  bytes: fc.uint8Array({ maxLength: 1_500 }),
});

test('every file is unpacked with its bytes, and the order of the entries does not matter', () => {
  fc.assert(
    fc.property(fc.uniqueArray(file, { selector: ({ path }) => path[0], maxLength: 8 }), (files) => {
      const entries = files.map(({ path, bytes }) => {
        return { path: path.join('/'), kind: 'file', mode: 0o644, owner: 0, bytes } as const;
      });
      const archive = tarOf(entries, TIME);
      expect(tarOf(entries.toReversed(), TIME).equals(archive)).toBe(true);
      using folder = tmpDir('tidegate-tar-');
      execFileSync('tar', ['-xf', '-', '-C', folder.path], { input: archive });
      for (const { path, bytes } of entries) {
        expect(readFileSync(join(folder.path, path)).equals(Buffer.from(bytes)), path).toBe(true);
      }
    }),
    { numRuns: 25 },
  );
});

test.each<[string, TarEntry[], RegExp]>([
  ['a name longer than 100 bytes', [link('a'.repeat(101), 'b')], /too long for ustar/],
  [
    'a path whose folders are longer than 155 bytes',
    [link(`${'a/'.repeat(90)}${'b'.repeat(90)}`, 'b')],
    /too long/,
  ],
  ['a target longer than 100 bytes', [link('a', 'b'.repeat(101))], /too long for ustar/],
  ['a path twice', [link('a', 'b'), link('a', 'c')], /a is in the archive twice/],
])('%s is refused, not cut off', (_, entries, fault) => {
  expect(() => tarOf(entries, TIME)).toThrow(fault);
});

function link(path: string, to: string): TarEntry {
  return { path, kind: 'link', mode: 0o777, owner: 0, to };
}

function list(archive: Buffer): string[] {
  const text = execFileSync('tar', ['-tvf', '-', '--numeric-owner', '--utc'], {
    input: archive,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  return text
    .trim()
    .split('\n')
    .map((line) => line.replace(/ +/g, ' '));
}
