import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createClock } from '@tidegate/testkit/clock';
import { createIds } from '@tidegate/testkit/ids';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { sha256Hex } from '../platform/sha256.ts';
import { runCommand } from './run-command.ts';

/** A signed release of two files, and the command line. */
async function signedRelease() {
  const folder = tmpDir('tidegate-release-');
  onTestFinished(() => folder.remove());
  const release = join(folder.path, 'release');
  mkdirSync(release);
  const put = (name: string, text: string) => writeFileSync(join(release, name), text);
  put('tidegate.deb', 'server');
  put('tidegate-agent.deb', 'agent');
  put('SHA256SUMS', `${sha256Hex('agent')}  tidegate-agent.deb\n${sha256Hex('server')}  tidegate.deb\n`);
  const ids = createIds(createClock(0), 'release');
  async function keys(...args: string[]) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runCommand(['keys', 'release', ...args], {
      env: {},
      now: () => 0,
      random: (n) => Buffer.from(ids.bytes(n)),
      out: (text) => out.push(text),
      err: (text) => err.push(text),
      isTerminal: false,
      stdin: Readable.from([]),
    });
    return { code, out: out.join('\n'), err: err.join('\n') };
  }
  const file = join(folder.path, 'release.key');
  const made = await keys('make', '--out', file);
  const publicKey = made.out.slice(0, 64);
  expect(await keys('sign', release, '--key', file)).toMatchObject({ code: 0 });
  return {
    release,
    put,
    keys,
    file,
    publicKey,
    verify: () => keys('verify', release, '--public-key', publicKey),
  };
}

test('a release that was signed verifies, and its key is readable by its owner alone', async () => {
  const { verify, file, publicKey, keys } = await signedRelease();
  expect(await verify()).toEqual({ code: 0, out: `2 files are those that ${publicKey} signed.`, err: '' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const again = await keys('make', '--out', file);
  expect([again.code, again.err]).toEqual([1, `${file} cannot be written (EEXIST)`]);
});

test.each([
  [
    'a changed file',
    'tidegate.deb is not the file that SHA256SUMS names: its SHA-256 differs',
    ['tidegate.deb', 'servex'],
  ],
  ['a file more', 'SHA256SUMS does not name more.deb', ['more.deb', '']],
  [
    'other checksums',
    'SHA256SUMS.sig is not a signature of SHA256SUMS',
    ['SHA256SUMS', `${'0'.repeat(64)}  tidegate.deb\n`],
  ],
  ['an empty signature', 'SHA256SUMS.sig is not a signature of SHA256SUMS', ['SHA256SUMS.sig', '']],
] as const)('%s is refused: %s', async (_, fault, [name, text]) => {
  const { verify, put } = await signedRelease();
  put(name, text);
  const { code, err } = await verify();
  expect([code, err]).toEqual([1, expect.stringContaining(fault)]);
});

test('a missing file is refused', async () => {
  const { verify, release } = await signedRelease();
  rmSync(join(release, 'tidegate.deb'));
  expect((await verify()).err).toBe('tidegate.deb is missing, which SHA256SUMS names');
});

test('every file that is changed or missing is named', async () => {
  const { verify, put, release } = await signedRelease();
  put('tidegate.deb', 'servex');
  rmSync(join(release, 'tidegate-agent.deb'));
  const { code, err } = await verify();
  expect([code, err.split('\n')]).toEqual([
    1,
    [
      'tidegate-agent.deb is missing, which SHA256SUMS names',
      'tidegate.deb is not the file that SHA256SUMS names: its SHA-256 differs',
    ],
  ]);
});

test.each([
  ['a path', `${'0'.repeat(64)}  ../tidegate.deb\n`],
  ['one file twice', `${'0'.repeat(64)}  tidegate.deb\n`.repeat(2)],
  ['a line without its end', `${'0'.repeat(64)}  tidegate.deb`],
  ['nothing', ''],
])('checksums with %s are not signed', async (_, text) => {
  const { keys, put, release, file } = await signedRelease();
  const before = readFileSync(join(release, 'SHA256SUMS.sig'));
  put('SHA256SUMS', text);
  const { code, err } = await keys('sign', release, '--key', file);
  expect([code, err]).toEqual([1, expect.stringContaining('SHA256SUMS cannot be read; allowed:')]);
  expect(readFileSync(join(release, 'SHA256SUMS.sig'))).toEqual(before);
});
