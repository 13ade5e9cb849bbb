import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LISTS_MAX_AGE_MS } from '@tidegate/protocol/timeliness';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { judgeLists } from './list-age.ts';

let dir: ReturnType<typeof tmpDir>;
let listsDir: string;
beforeEach(() => {
  dir = tmpDir();
  listsDir = `${join(dir.path, 'lists')}/`; // as apt-config prints it
  mkdirSync(join(listsDir, 'partial'), { recursive: true });
});
afterEach(() => dir.remove());

const places = () => ({ statusFile: '', adminDir: '', listsDir, etcDir: '', nativeArch: 'amd64' });
const staleAt = async (nowMs: number) => (await judgeLists(places(), nowMs)).staleness;
const stale = (ageMs: number) => staleAt(Date.now() + ageMs);
const HOUR_MS = 3_600_000;

test('lists confirmed within two days are fresh, older ones are reported', async () => {
  writeFileSync(join(listsDir, 'deb.test_dists_stable_InRelease'), '');
  expect(await stale(LISTS_MAX_AGE_MS - HOUR_MS)).toBeNull();
  expect(await stale(LISTS_MAX_AGE_MS + HOUR_MS)).toContain('apt-get update last succeeded 2 days ago');
  expect(await stale(30 * 24 * HOUR_MS + HOUR_MS)).toContain('30 days ago');
});

/** Creates a file some milliseconds after all others; returns a time at which only this file is fresh. */
async function later(path: string): Promise<number> {
  const beforeMs = Date.now();
  await pause(40);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, '');
  return beforeMs + 20 + LISTS_MAX_AGE_MS;
}

test('the newest signed release counts; a failed attempt does not', async () => {
  writeFileSync(join(listsDir, 'a_InRelease'), '');
  let nowMs = await later(join(listsDir, 'partial', 'x'));
  expect(await staleAt(nowMs)).not.toBeNull();
  nowMs = await later(join(listsDir, 'b_Release'));
  expect(await staleAt(nowMs)).not.toBeNull();
  nowMs = await later(join(listsDir, 'b_Release.gpg'));
  expect(await staleAt(nowMs)).toBeNull();
});

test.each(['lists/partial/x', 'periodic/update-success-stamp'])(
  '%s tells of unsigned sources',
  async (mark) => {
    writeFileSync(join(listsDir, 'a_Release'), '');
    expect(await staleAt(await later(join(dir.path, mark)))).toBeNull();
  },
);

test('no lists at all are a fault of the scan, not old lists', async () => {
  expect(await stale(LISTS_MAX_AGE_MS * 2)).toBeNull();
  listsDir = '/nowhere/';
  expect(await stale(LISTS_MAX_AGE_MS * 2)).toBeNull();
});

test('the age is known to the second; that of lists of the future is not', async () => {
  const list = join(listsDir, 'deb.test_dists_stable_InRelease');
  writeFileSync(list, '');
  const { ctimeMs } = lstatSync(list);
  const { ageMs } = await judgeLists(places(), ctimeMs + LISTS_MAX_AGE_MS);
  expect(ageMs).toBeCloseTo(LISTS_MAX_AGE_MS, 0);
  expect(await judgeLists(places(), ctimeMs - HOUR_MS)).toEqual({ ageMs: null, staleness: null });
});
