import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { findDownloadFolder } from './places.ts';

test.each([
  ['XDG_DOWNLOAD_DIR="$HOME/Geladenes"\n', 'home', 'Geladenes'],
  [
    '# XDG_DOWNLOAD_DIR="/no"\nXDG_MUSIC_DIR="$HOME/Music"\nXDG_DOWNLOAD_DIR="/srv/in \\"tray\\""\n',
    '/',
    'srv/in "tray"',
  ],
  ['XDG_DOWNLOAD_DIR="relative"\n', 'home', 'Downloads'],
  ['XDG_DOWNLOAD_DIR="$(touch /tmp/x)"\n', 'home', 'Downloads'],
  [null, 'home', 'Downloads'],
])('with user-dirs.dirs %j downloads go to %s/%s', (text, base, folder) => {
  const home = tmpDir('tidegate-home-');
  onTestFinished(() => home.remove());
  mkdirSync(join(home.path, '.config'));
  if (text !== null) writeFileSync(join(home.path, '.config/user-dirs.dirs'), text);
  const expected = join(base === 'home' ? home.path : base, folder);
  expect(findDownloadFolder({ HOME: home.path })).toBe(expected);
  expect(findDownloadFolder({ HOME: home.path, XDG_DOWNLOAD_DIR: '/elsewhere' })).toBe('/elsewhere');
});
