import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { startChild } from './harness/child.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const STATES = ['full', 'empty', 'error'];
/** A fleet with its history, and sixty pages at three widths in two themes. */
const ENDS_WITHIN_MS = 1_800_000;

test('every page of the console is accessible in both themes, and fits its window, at three widths', {
  timeout: ENDS_WITHIN_MS,
}, async () => {
  const folder = tmpDir('tidegate-gallery-');
  onTestFinished(folder.remove);
  const child = startChild(
    process.execPath,
    [
      join(REPOSITORY, 'scripts/gallery.ts'),
      ...['--out', join(folder.path, 'pictures')],
      ...STATES.flatMap((state) => ['--state', state]),
    ],
    { env: { PATH: process.env.PATH ?? '' }, cwd: REPOSITORY, asGroup: true },
  );
  onTestFinished(async () => {
    if (!child.hasEnded()) child.signal('SIGTERM');
    await child.ended;
  });
  const { code } = await child.ended;
  expect(child.stdout.filter((line) => line.includes('wrong: '))).toEqual([]);
  expect(code, child.stderr.join('\n')).toBe(0);
});
