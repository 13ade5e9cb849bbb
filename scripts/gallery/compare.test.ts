import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { PNG } from 'pngjs';
import { expect, onTestFinished, test } from 'vitest';
import { comparePictures, gonePictures } from './compare.ts';
import { reviewPage } from './html.ts';

const WHITE = 0xff;

function picture(path: string, { height = 10, black = 0 }: { height?: number; black?: number } = {}): void {
  const image = new PNG({ width: 10, height });
  image.data.fill(WHITE);
  for (let pixel = 0; pixel < black; pixel++) image.data.fill(0, pixel * 4, pixel * 4 + 3);
  writeFileSync(path, PNG.sync.write(image));
}

test('what differs comes with its share, the largest first; what is new comes before, and what is the same is left out', () => {
  const dir = tmpDir('tidegate-gallery-');
  onTestFinished(() => dir.remove());
  const [old, folder] = [join(dir.path, 'old'), join(dir.path, 'new')];
  for (const path of [old, folder]) mkdirSync(path);
  picture(join(old, 'same.png'));
  picture(join(folder, 'same.png'));
  picture(join(old, 'row.png'));
  picture(join(folder, 'row.png'), { black: 20 });
  picture(join(old, 'longer.png'));
  picture(join(folder, 'longer.png'), { height: 20, black: 150 });
  picture(join(folder, 'fresh.png'));
  const files = ['same.png', 'row.png', 'longer.png', 'fresh.png'];
  expect(comparePictures(files, { folder, old })).toEqual([
    { file: 'fresh.png', share: null, shown: null },
    { file: 'longer.png', share: 0.75, shown: 'diff-longer.png' },
    { file: 'row.png', share: 0.2, shown: 'diff-row.png' },
  ]);
  expect(['diff-row.png', 'diff-same.png'].map((name) => existsSync(join(folder, name)))).toEqual([
    true,
    false,
  ]);
});

test('what only the other gallery has is gone, if it is of the pages, states and widths that were asked for', () => {
  const dir = tmpDir('tidegate-gallery-');
  onTestFinished(() => dir.remove());
  for (const name of [
    'hosts-full-390-dark',
    'host-full-390-dark',
    'diff-hosts-full-390-dark',
    'updates-full-390-dark',
    'hosts-empty-390-dark',
    'hosts-full-1440-light',
  ])
    picture(join(dir.path, `${name}.png`));
  const files = ['host-full-390-dark.png'];
  const asked = { old: dir.path, only: 'host', states: ['full'], widths: [390] };
  expect(gonePictures(files, asked)).toEqual(['hosts-full-390-dark.png']);
  expect(gonePictures(files, { ...asked, only: '' })).toHaveLength(2);
  expect(gonePictures(files, { ...asked, states: ['full', 'empty'], widths: [390, 1440] })).toHaveLength(3);
});

test('the review shows before, after and what differs, what is new, and what is gone', () => {
  const differences = [
    { file: 'fresh.png', share: null, shown: null },
    { file: 'row.png', share: 0.2, shown: 'diff-row.png' },
  ];
  const page = reviewPage({ differences, gone: ['lost.png'], old: '../old' });
  const pictures = [...page.matchAll(/<img [^>]*src="([^"]+)"/g)].map(([, src]) => src);
  expect(pictures).toEqual(['fresh.png', '../old/row.png', 'row.png', 'diff-row.png', '../old/lost.png']);
  expect(page).toContain('<a href="#row.png">row.png</a> 20.00 %');
  expect(page).toContain('2 pictures differ, 1 are gone.');
});
