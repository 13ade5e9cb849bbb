import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { PNG } from 'pngjs';
import { expect, onTestFinished, test } from 'vitest';
import { comparePictures } from './compare.ts';

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
