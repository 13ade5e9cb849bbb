import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { copyKept, type KeptVersion, keepFiles, keptVersion, openKept } from './kept-files.ts';

const NOW_MS = Date.parse('2026-11-01T12:00:00Z');
const DAY_MS = 24 * 3_600_000;
const LIMITS = { maxBytes: 1_000, maxAgeMs: 90 * DAY_MS };

const dir = tmpDir('tidegate-kept-');
let base: string;
let folder: string;
let target: string;
beforeEach(() => {
  base = mkdtempSync(join(dir.path, 'case-'));
  folder = join(base, 'kept');
  target = mkdtempSync(join(base, 'stage-'));
});
afterAll(() => dir.remove());

/** A file of so many bytes for a version, as it was downloaded. */
function fileOf(name: string, bytes = 100, content = name) {
  const text = content.padEnd(bytes, '.');
  const path = join(mkdtempSync(join(base, 'in-')), `${name}.deb`);
  writeFileSync(path, text);
  const sha256 = createHash('sha256').update(text).digest('hex');
  const artifact = { filename: `${name}.deb`, url: 'http://archive/', size_bytes: bytes, sha256 };
  const [version] = keptVersion('apt', {
    ...{ action: 'upgrade', name, arch: 'all', from_version: '0', to_version: '1', artifact },
  });
  if (version === undefined) throw new Error('a version without a file');
  return { version, path };
}

type File = ReturnType<typeof fileOf>;

function keep(files: File[], { needed = [], nowMs = NOW_MS }: { needed?: File[]; nowMs?: number } = {}) {
  const hashes = new Set(needed.map(({ version }) => version.artifact.sha256));
  return keepFiles(folder, files, { nowMs, needed: hashes, limits: LIMITS });
}

const isThere = ({ version }: File) => openKept(folder).find(version) !== null;
const copy = ({ artifact }: KeptVersion) => copyKept(folder, artifact, target);
const placeOf = ({ version: { artifact } }: File) => join(folder, artifact.sha256, artifact.filename);

test('a file is found by its version and copied by its hash', () => {
  const file = fileOf('a');
  expect(keep([file])).toBeNull();
  expect(openKept(folder).find({ ...file.version, sha256: 'f'.repeat(64) })).toBeNull();
  expect(openKept(folder).find({ ...file.version, version: '2' })).toBeNull();
  expect(openKept(folder).find(file.version)?.path).toBe(placeOf(file));
  expect(copy(file.version)).toBe(true);
  expect(readFileSync(join(target, 'a.deb'))).toEqual(readFileSync(file.path));
});

test('a file with another hash than the one that was named is not kept', () => {
  const file = fileOf('a');
  writeFileSync(file.path, 'b'.padEnd(100, '.'));
  expect(keep([file])).toBe('a.deb is not the file that was named');
  expect(isThere(file)).toBe(false);
});

/** What somebody who can change the folder does to a kept file. */
const ATTACKS: [string, (file: File) => void][] = [
  ['another content of the same size', (file) => writeFileSync(placeOf(file), 'b'.padEnd(100, '.'))],
  ['a link to another file', (file) => replace(file, (path, other) => symlinkSync(other, path))],
  ['a pipe that nobody writes to', (file) => replace(file, (path) => execFileSync('mkfifo', [path]))],
  ['a folder', (file) => replace(file, (path) => mkdirSync(path))],
  ['nothing', (file) => rmSync(placeOf(file))],
];

function replace(file: File, put: (path: string, other: string) => void) {
  const path = placeOf(file);
  renameSync(path, `${path}.moved`);
  put(path, `${path}.moved`);
}

test.each(ATTACKS)('%s in place of a kept file is not handed on, and is mended', (_, attack) => {
  const file = fileOf('a');
  keep([file]);
  attack(file);
  expect(copy(file.version)).toBe(false);
  expect(existsSync(join(target, 'a.deb'))).toBe(false);
  expect(keep([file])).toBeNull();
  expect(copy(file.version)).toBe(true);
});

test.each<[string, (folder: string) => void]>([
  ['a folder that everybody may write to', (path) => chmodSync(path, 0o777)],
  [
    'a link to a folder',
    (path) => {
      renameSync(path, `${path}-elsewhere`);
      symlinkSync(`${path}-elsewhere`, path);
    },
  ],
  ['an index that everybody may write to', (path) => chmodSync(join(path, 'index.json'), 0o666)],
])('%s holds no file', (_, spoil) => {
  const file = fileOf('a');
  keep([file]);
  spoil(folder);
  expect(isThere(file)).toBe(false);
  expect(copy(file.version)).toBe(false);
});

test('nothing is written through a link in place of the folder', () => {
  const elsewhere = mkdtempSync(join(base, 'elsewhere-'));
  symlinkSync(elsewhere, folder);
  expect(keep([fileOf('a')])).toBe(`${folder} is not a folder of the agent alone`);
  expect(readdirSync(elsewhere)).toEqual([]);
});

test.each(['not JSON', '{"kept":[{"version":{"name":"a"}}]}', '{"kept":[],"kept":[]}'])(
  'an index of %s is empty, and is written anew',
  (text) => {
    const file = fileOf('a');
    keep([file]);
    writeFileSync(join(folder, 'index.json'), text);
    expect(isThere(file)).toBe(false);
    expect(keep([file])).toBeNull();
    expect(isThere(file)).toBe(true);
  },
);

test('the oldest files go first when the folder is full, and their bytes with them', () => {
  const files = ['a', 'b', 'c'].map((name) => fileOf(name, 400));
  for (const [n, file] of files.entries()) keep([file], { nowMs: NOW_MS + n });
  expect(files.map(isThere)).toEqual([false, true, true]);
  const hashes = files.slice(1).map(({ version }) => version.artifact.sha256);
  expect(readdirSync(folder).sort()).toEqual([...hashes, 'index.json'].sort());
});

test('what a rollback of this installation needs stays, however old it is', () => {
  const [old, ...later] = ['a', 'b', 'c'].map((name) => fileOf(name, 400));
  if (old === undefined) throw new Error('no file');
  keep([old]);
  keep(later, { needed: [old], nowMs: NOW_MS + 91 * DAY_MS });
  expect([old, ...later].map(isThere)).toEqual([true, false, true]);
});

test('a file goes after ninety days, and stays on the last of them', () => {
  const file = fileOf('a');
  keep([file]);
  keep([], { nowMs: NOW_MS + 90 * DAY_MS });
  expect(isThere(file)).toBe(true);
  keep([], { nowMs: NOW_MS + 90 * DAY_MS + 1 });
  expect(isThere(file)).toBe(false);
  expect(readdirSync(folder)).toEqual(['index.json']);
});

test('a file that is larger than the whole folder is not kept, and displaces nothing', () => {
  const [small, large] = [fileOf('a'), fileOf('b', 1_001)];
  keep([small]);
  keep([large], { needed: [large] });
  expect([isThere(small), isThere(large)]).toEqual([true, false]);
});

test('more files than the index can name do not make it unreadable', () => {
  const file = fileOf('a', 1);
  const url = `http://archive/${'u'.repeat(2_000)}`;
  const many = Array.from({ length: 5_001 }, (_, n) => ({
    path: file.path,
    version: {
      ...{ ...file.version, version: `1.${n}` },
      artifact: { ...file.version.artifact, url },
    },
  }));
  expect(keep(many)).toBeNull();
  const { kept } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  expect(kept.length).toBeGreaterThan(1_000);
  expect(kept.length).toBeLessThanOrEqual(5_000);
  expect(openKept(folder).find({ ...file.version, version: '1.5000' })).not.toBeNull();
});
