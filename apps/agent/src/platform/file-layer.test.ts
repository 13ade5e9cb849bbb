import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { failingFiles } from '../testing/failing-files.ts';
import { removeTemporaries, writeDurably } from './file-layer.ts';

test('what a killed write left of a file is removed, and nothing else (R2)', () => {
  using folder = tmpDir();
  const path = join(folder.path, 'config.json');
  const others = [
    '.config.json.tmp',
    '.config.json.0123456789ab.tmp.bak',
    '.journal.json.0123456789ab.tmp',
    'config.json',
  ];
  for (const name of others) writeFileSync(join(folder.path, name), '');
  const { files } = failingFiles(4, 'kill');
  expect(() => writeDurably(path, new Uint8Array(10), { mode: 0o600, files })).toThrow();
  expect(readdirSync(folder.path)).toHaveLength(others.length + 1);
  removeTemporaries(path);
  expect(readdirSync(folder.path).sort()).toEqual(others.sort());
});
