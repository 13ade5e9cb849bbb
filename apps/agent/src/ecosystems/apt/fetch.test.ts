import { createHash } from 'node:crypto';
import { link, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { checkFiles, FETCH_MAX_BYTES } from '../downloads.ts';
import { USUAL_PLACES } from '../host-places.ts';
import { fetchActions } from './fetch.ts';

const content = 'the approved bytes';
const filename = 'demo_1%3a1.1-1_all.deb';
const expected = {
  ...{ name: 'demo', arch: 'all', version: '1:1.1-1', filename, sizeBytes: content.length },
  sha256: createHash('sha256').update(content).digest('hex'),
};

async function check(prepare: (file: string, directory: string) => Promise<void>) {
  using dir = tmpDir('tidegate-fetch-');
  const directory = join(dir.path, 'files');
  await mkdir(directory);
  const file = join(directory, filename);
  await writeFile(file, content);
  await prepare(file, directory);
  return { outcome: await checkFiles(directory, [expected]), left: await readdir(directory) };
}

test('the approved file passes and other files are removed', async () => {
  const { outcome, left } = await check(async (_, directory) => {
    await mkdir(join(directory, 'partial'));
    await writeFile(join(directory, 'other.deb'), content);
  });
  expect({ outcome, left }).toEqual({ outcome: { ok: true }, left: [filename] });
});

test.each([
  ['of the same size with another byte', (file: string) => writeFile(file, content.replace('a', 'b'))],
  ['that is longer', (file: string) => writeFile(file, `${content}x`)],
  ['that is not there', (file: string) => rm(file)],
  ['that is a folder', (file: string) => rm(file).then(() => mkdir(file))],
  ['that is a link to the approved bytes', (file: string) => replaceByLink(file, symlink)],
  ['that has a second name elsewhere', (file: string) => replaceByLink(file, link)],
] as [string, (file: string) => Promise<void>][])(
  'a file %s is a mismatch and removed (A4)',
  async (_, change) => {
    const { outcome, left } = await check(change);
    expect(outcome).toEqual({ ok: false, reason: 'artifact_mismatch: demo' });
    expect(left).toEqual([]);
  },
);

test.each([
  ['a file name that apt would not look for', { filename: 'demo.deb' }],
  ['no SHA-256', { sha256: '' }],
])('an artifact with %s is refused before anything runs', async (_, change) => {
  const artifact = { filename, url: 'http://a/x', size_bytes: 1, sha256: expected.sha256, ...change };
  const action = { action: 'upgrade' as const, name: 'demo', arch: 'all', to_version: '1:1.1-1', artifact };
  const outcome = await fetchActions(USUAL_PLACES, { actions: [action], directory: '/nowhere' });
  expect(outcome).toEqual({ ok: false, reason: 'artifact_mismatch: demo' });
});

test('a plan that is larger than the limit is refused before anything runs', async () => {
  using dir = tmpDir('tidegate-fetch-');
  const artifact = { filename, url: 'http://a/x', size_bytes: FETCH_MAX_BYTES + 1, sha256: expected.sha256 };
  const action = { action: 'upgrade' as const, name: 'demo', arch: 'all', to_version: '1:1.1-1', artifact };
  const outcome = await fetchActions(USUAL_PLACES, { actions: [action], directory: dir.path });
  expect(!outcome.ok && outcome.reason).toContain(`more than ${FETCH_MAX_BYTES}`);
});

async function replaceByLink(
  file: string,
  make: (target: string, path: string) => Promise<void>,
): Promise<void> {
  const elsewhere = join(file, '../../elsewhere');
  await writeFile(elsewhere, content);
  await rm(file);
  await make(elsewhere, file);
}
