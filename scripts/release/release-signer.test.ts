import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { type TmpDir, tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ReleaseFault } from './release-fault.ts';
import { signerOfKey, signerOfRecord } from './release-signer.ts';

const SCRIPT = join(import.meta.dirname, '../release.ts');
const KEY = generatePrivateKeyHex(new Uint8Array(32).fill(7));
const EPOCH_SECONDS = 1_790_000_000;

let folder: TmpDir;
const at = (name: string) => join(folder.path, name);
const holding = (text: string) => {
  writeFileSync(at('given'), text);
  return at('given');
};
beforeEach(() => {
  folder = tmpDir('tidegate-signer-');
});
afterEach(() => folder.remove());

test.each<[string, () => string, string]>([
  ['no file', () => at('given'), 'given cannot be read (ENOENT)'],
  ['a folder', () => folder.path, 'cannot be read (EISDIR)'],
  ['half a key', () => holding(KEY.slice(0, 64)), 'given holds no release key; allowed: '],
  ['halves of two keys', () => holding(`${'1'.repeat(64)}${KEY.slice(64)}`), 'given holds no release key'],
])('a release key is told what it is not: %s', async (_, file, words) => {
  const given = file();
  await expect(signerOfKey(given, EPOCH_SECONDS)).rejects.toThrow(
    expect.objectContaining({ name: 'ReleaseFault', message: expect.stringContaining(words) }),
  );
});

test.each<[string, () => string, string]>([
  ['no file', () => at('given'), 'given cannot be read (ENOENT)'],
  ['no JSON', () => holding('{'), 'given is no agents-signatures.json of a release'],
  ['other JSON', () => holding('{}'), 'given is no agents-signatures.json of a release'],
])('signatures are told what they are not: %s', (_, file, words) => {
  const given = file();
  expect(() => signerOfRecord(given, EPOCH_SECONDS)).toThrow(ReleaseFault);
  expect(() => signerOfRecord(given, EPOCH_SECONDS)).toThrow(words);
});

test.each<[string, () => string[], number, string]>([
  ['a key that there is not', () => ['--release-key', at('given')], 1, 'given cannot be read (ENOENT)'],
  ['an earlier release that there is not', () => ['--earlier', at('given')], 2, '--earlier is '],
  ['an option that there is not', () => ['--sign'], 2, "Unknown option '--sign'"],
])('the script says it in one line and builds nothing: %s', (_, args, code, words) => {
  const out = at('out/release');
  const ran = spawnSync(process.execPath, [SCRIPT, '--out', out, ...args()], { encoding: 'utf8' });
  expect([ran.status, ran.stdout]).toEqual([code, '']);
  expect(ran.stderr).toContain(words);
  expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(existsSync(out)).toBe(false);
});
