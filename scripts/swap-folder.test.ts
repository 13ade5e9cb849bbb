import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { swapFolder } from './swap-folder.ts';

function setUp() {
  const tmp = tmpDir('tidegate-swap-');
  onTestFinished(() => tmp.remove());
  const place = join(tmp.path, 'dist');
  const make = (name: string) => {
    const folder = join(tmp.path, name);
    mkdirSync(folder);
    for (const file of ['a', 'b']) writeFileSync(join(folder, file), name);
    return folder;
  };
  const texts = () => readdirSync(place).map((file) => readFileSync(join(place, file), 'utf8'));
  return { path: tmp.path, place, make, texts };
}

test('the new folder replaces the old one, and nothing else remains', () => {
  const { path, place, make, texts } = setUp();
  swapFolder(make('first'), place);
  expect(texts()).toEqual(['first', 'first']);
  swapFolder(make('second'), place);
  expect(texts()).toEqual(['second', 'second']);
  expect(readdirSync(path)).toEqual(['dist']);
});

/** Creates a folder and swaps it in, repeatedly. */
const SWAPS = `
  import { mkdirSync, writeFileSync } from 'node:fs';
  import { swapFolder } from ${JSON.stringify(join(import.meta.dirname, 'swap-folder.ts'))};
  const [path, name] = process.argv.slice(1);
  for (let n = 0; n < 200; n++) {
    mkdirSync(path + '/' + name);
    for (const file of ['a', 'b']) writeFileSync(path + '/' + name + '/' + file, name + n);
    swapFolder(path + '/' + name, path + '/dist');
  }`;

test('many swaps at once leave one complete folder', async () => {
  const { path, texts } = setUp();
  const run = (name: string) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', SWAPS, path, name]);
  await Promise.all(['one', 'two', 'three', 'four'].map(run));
  expect(readdirSync(path)).toEqual(['dist']);
  const [first] = texts();
  expect(first).toMatch(/^(one|two|three|four)\d+$/);
  expect(texts()).toEqual([first, first]);
});
