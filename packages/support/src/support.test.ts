import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { readTail } from './read-tail.ts';
import { scrub } from './scrub.ts';
import { packTar } from './tar.ts';
import { type Bundle, describeBundle, PART_MAX_BYTES, writeBundle } from './write-bundle.ts';

test.each([
  ['postgres://tidegate:p@ss@db.test:5432/x', 'postgres://[hidden]@db.test:5432/x'],
  ['https://osv.test/v1?key=abc#d', 'https://osv.test/v1?[hidden]'],
  ['Authorization: Bearer abc.def', /hidden/],
  ['SERVICE_JWT_SECRET=short', 'SERVICE_JWT_SECRET=[hidden]'],
  ['{"refresh_token": "abc"}', '{"refresh_token": "[hidden]"}'],
  ['open /setup/AAAA-BBBB', 'open /setup/[hidden]'],
  [`a tgr_${'x'.repeat(43)} b`, 'a [hidden] b'],
  [`rt1.x.1.${'aA'.repeat(20)}.tag`, '[hidden]'],
  ['code ABCD1-EFGH2-JKLM3-NPQR4', 'code [hidden]'],
  [`-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----`, '[hidden]'],
])('%j becomes %j', (text, expected) => {
  if (typeof expected === 'string') expect(scrub(text, [])).toBe(expected);
  else {
    expect(scrub(text, [])).toMatch(expected);
    expect(scrub(text, [])).not.toContain('abc');
  }
});

test.each([
  '01900000-0000-7000-8000-0000000000ff is gone',
  '2026-11-21T09:00:00.000Z [WARN] slow query duration_ms=1200 statement="SELECT ? FROM agents"',
  'https://tidegate.test:8443/api/v1/agents',
  'tidegate-executor.path has failed',
])('%j stays as it is', (text) => {
  expect(scrub(text, [])).toBe(text);
});

test('a known secret is hidden in every spelling, and a short word is not taken for one', () => {
  expect(scrub('p@ss"x p%40ss%22x p@ss\\"x abc', ['p@ss"x', 'abc'])).toBe('[hidden] [hidden] [hidden] abc');
});

function bundleOf(content: unknown): Bundle {
  const parts = [{ name: 'part.json', about: 'a part', content }];
  return {
    program: 'tidegate',
    version: '1.0.0',
    createdAtMs: 1_795_251_600_000,
    parts,
    secrets: ['the secret'],
  };
}

test('a bundle is for its owner alone, replaces nothing, and tar reads it', () => {
  using folder = tmpDir();
  const path = join(folder.path, 'b.tar.gz');
  const written = writeBundle(path, bundleOf({ a: 'the secret', b: 1 }));
  if (!written.ok) throw new Error(written.detail);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  execFileSync('tar', ['-xzf', path], { cwd: folder.path });
  expect(JSON.parse(readFileSync(join(folder.path, 'part.json'), 'utf8'))).toEqual({ a: '[hidden]', b: 1 });
  expect(JSON.parse(readFileSync(join(folder.path, 'manifest.json'), 'utf8'))).toEqual(written.manifest);
  expect(describeBundle(path, written)).toContain('part.json  a part');
  writeFileSync(path, 'kept');
  expect(writeBundle(path, bundleOf(''))).toMatchObject({
    ok: false,
    detail: expect.stringContaining('exists already'),
  });
  expect(readFileSync(path, 'utf8')).toBe('kept');
  expect(writeBundle(join(folder.path, 'no/b'), bundleOf('')).ok).toBe(false);
  expect(existsSync(join(folder.path, 'no'))).toBe(false);
});

test('a part that is too large keeps its end, and the manifest says so', () => {
  using folder = tmpDir();
  const written = writeBundle(join(folder.path, 'b'), bundleOf(`${'line\n'.repeat(300_000)}end`));
  expect(written).toMatchObject({ ok: true, manifest: { files: [{ bytes: PART_MAX_BYTES, cut: true }] } });
});

test('a name that does not fit is a mistake', () => {
  expect(() =>
    packTar([{ path: 'x'.repeat(101), kind: 'file', mode: 0o600, owner: 0, bytes: Buffer.alloc(0) }], 0),
  ).toThrow(RangeError);
});

test('the last lines of a log begin with a whole one', () => {
  using folder = tmpDir();
  const path = join(folder.path, 'log');
  writeFileSync(path, `${Array.from({ length: 1_000 }, (_, i) => `line ${i}`).join('\n')}\n`);
  expect(readTail(path, { lines: 2, maxBytes: 10_000 })).toBe('line 998\nline 999\n');
  const cut = readTail(path, { lines: 1_000, maxBytes: 25 });
  expect(cut).toBe('line 998\nline 999\n');
});
