import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Artifact, PlanAction } from '@tidegate/protocol/plan';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { upgradeOf } from '../testing/fleet.ts';
import { stageArtifacts } from './stage.ts';

const bytes = new TextEncoder().encode('the file that was approved');
const NAME = 'demo_2.0_all.deb';
const action = upgradeOf({ name: NAME, bytes });

function stage(prepare: (from: string, to: string) => void, actions: PlanAction[] = [action]) {
  using folder = tmpDir();
  const [from, to] = [join(folder.path, 'artifacts'), join(folder.path, 'stage')];
  mkdirSync(from);
  mkdirSync(to, { mode: 0o700 });
  writeFileSync(join(from, NAME), bytes);
  prepare(from, to);
  const outcome = stageArtifacts(actions, { from, to });
  const copy = join(to, NAME);
  const staged = existsSync(copy) ? { bytes: readFileSync(copy), mode: statSync(copy).mode & 0o777 } : null;
  return { outcome, staged };
}

test('the copy is what was approved, and root alone can touch it (A4)', () => {
  const { outcome, staged } = stage(() => {});
  expect(outcome).toEqual({ ok: true });
  expect(staged).toEqual({ bytes: Buffer.from(bytes), mode: 0o600 });
});

test('files that do not fit beside what is there are not copied', () => {
  const vast = upgradeOf({ name: NAME, bytes, sizeBytes: 2 ** 52 });
  const { outcome, staged } = stage(() => {}, [vast]);
  expect(outcome).toMatchObject({ ok: false, reason: 'space_insufficient' });
  expect(!outcome.ok && outcome.detail).toMatch(/needs 4294967296 MiB on .* which has \d+ MiB/);
  expect(staged).toBeNull();
});

test.each<[string, string, (from: string, to: string) => void]>([
  ['artifact_extra', 'a file too many', (from) => writeFileSync(join(from, 'other.deb'), '')],
  ['artifact_extra', 'a folder too many', (from) => mkdirSync(join(from, 'partial'))],
  ['artifact_missing', 'a missing file', (from) => rmSync(join(from, NAME))],
  ['artifact_missing', 'no folder', (from) => rmSync(from, { recursive: true })],
  [
    'artifact_hash_differs',
    'one changed byte',
    (from) => writeFileSync(join(from, NAME), 'The file that was approved'),
  ],
  ['artifact_size_differs', 'a shorter file', (from) => writeFileSync(join(from, NAME), bytes.subarray(1))],
  ['artifact_size_differs', 'a longer file', (from) => writeFileSync(join(from, NAME), 'x', { flag: 'a' })],
  [
    'artifact_not_a_file',
    'a link to the right content',
    (from, to) => {
      const elsewhere = join(to, '..', 'elsewhere');
      renameSync(join(from, NAME), elsewhere);
      symlinkSync(elsewhere, join(from, NAME));
    },
  ],
  [
    'artifact_not_a_file',
    'a folder of that name',
    (from) => {
      rmSync(join(from, NAME));
      mkdirSync(join(from, NAME));
    },
  ],
  [
    'artifact_not_a_file',
    'a pipe, which would never end',
    (from) => {
      rmSync(join(from, NAME));
      execFileSync('mkfifo', [join(from, NAME)]);
    },
  ],
  [
    'artifact_missing',
    'a link in place of the folder',
    (from, to) => {
      renameSync(from, join(to, '..', 'real'));
      symlinkSync(join(to, '..', 'real'), from);
    },
  ],
])('%s: %s', (reason, _, prepare) => {
  expect(stage(prepare).outcome).toMatchObject({ ok: false, reason });
});

const sha512 = createHash('sha512').update(bytes).digest('hex');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const plain = { filename: NAME, url: 'https://archive.test/', size_bytes: bytes.length };

test.each<[string, Artifact, boolean]>([
  ['sha512 alone', { ...plain, sha512 }, true],
  ['both', { ...plain, sha256, sha512 }, true],
  ['a wrong sha512 beside a right sha256', { ...plain, sha256, sha512: 'a'.repeat(128) }, false],
  ['a wrong sha256 beside a right sha512', { ...plain, sha256: 'a'.repeat(64), sha512 }, false],
  ['no hash at all', plain, false],
])('every hash that the token names must hold: %s', (_, artifact, ok) => {
  expect(stage(() => {}, [{ ...action, artifact }]).outcome.ok).toBe(ok);
});

test('one file of several actions is staged once; one name for two artifacts is refused', () => {
  const again = { ...action, name: 'in the same file' };
  const { outcome, staged } = stage(() => {}, [action, again]);
  expect(outcome).toEqual({ ok: true });
  expect(staged?.bytes).toEqual(Buffer.from(bytes));
  const artifact = action.artifact ?? { filename: NAME, url: '', size_bytes: 0 };
  for (const other of [{ sha256: 'b'.repeat(64) }, { size_bytes: 1 }, { url: 'https://x.test/' }]) {
    const refused = stage(() => {}, [action, { ...again, artifact: { ...artifact, ...other } }]);
    expect(refused).toMatchObject({ outcome: { ok: false, reason: 'artifact_extra' }, staged: null });
  }
});
