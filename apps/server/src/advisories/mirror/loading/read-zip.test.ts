import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { type ZipFile, zipArchive } from '@tidegate/testkit/zip-archive';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readZip, ZIP_LIMITS, ZipFault, type ZipLimits } from './read-zip.ts';

function file(bytes: Uint8Array): string {
  const folder = tmpDir('tidegate-zip-');
  onTestFinished(() => folder.remove());
  const path = join(folder.path, 'all.zip');
  writeFileSync(path, bytes);
  return path;
}

async function read(path: string, limits: Partial<ZipLimits> = {}) {
  const found: string[] = [];
  for await (const { name, bytes } of readZip(path, { ...ZIP_LIMITS, ...limits })) {
    found.push(`${name}:${bytes?.toString() ?? 'too large'}`);
  }
  return found;
}

const TWO: ZipFile[] = [
  { name: 'A-1.json', content: '{"a":1}' },
  { name: 'B-2.json', content: 'b'.repeat(100_000) },
];

describe('an archive', () => {
  test.each([true, false])(
    'is read file by file (deflated: %s), with the same result as another program',
    async (deflate) => {
      const path = file(zipArchive(TWO, { deflate }));
      expect(await read(path)).toEqual(['A-1.json:{"a":1}', `B-2.json:${'b'.repeat(100_000)}`]);
      const script = 'import sys,zipfile; print(zipfile.ZipFile(sys.argv[1]).testzip())';
      expect(execFileSync('/usr/bin/python3', ['-c', script, path]).toString().trim()).toBe('None');
    },
  );

  test('is rejected beyond its bounds on entries and total size', async () => {
    const path = file(zipArchive(TWO));
    await expect(read(path, { entries: 1 })).rejects.toThrow(ZipFault);
    await expect(read(path, { totalBytes: 100_006 })).rejects.toThrow('more than 100006 bytes unpacked');
    expect(await read(path, { entries: 2, entryBytes: 100_000, totalBytes: 100_007 })).toHaveLength(2);
  });

  test('is read without an entry that is too large', async () => {
    const path = file(zipArchive([...TWO, { name: 'C-3.json', content: 'c' }]));
    const found = await read(path, { entryBytes: 99_999, totalBytes: 8 });
    expect(found).toEqual(['A-1.json:{"a":1}', 'B-2.json:too large', 'C-3.json:c']);
  });

  test('that understates its unpacked size is rejected (zip bomb)', async () => {
    const bomb = zipArchive([{ name: 'A-1.json', content: Buffer.alloc(5_000_000), saidLength: 10 }]);
    expect(bomb.length).toBeLessThan(10_000);
    await expect(read(file(bomb), { entryBytes: 1_000_000 })).rejects.toThrow(ZipFault);
  });

  test('that is cut off, empty or something else is rejected', async () => {
    const whole = zipArchive(TWO);
    await expect(read(file(whole.subarray(0, whole.length - 30)))).rejects.toThrow(ZipFault);
    await expect(read(file(Buffer.alloc(0)))).rejects.toThrow(ZipFault);
    await expect(read(file(Buffer.from('<html>')))).rejects.toThrow(ZipFault);
    expect(await read(file(zipArchive([])))).toEqual([]);
  });

  test('whose content was changed is rejected', async () => {
    const path = file(Buffer.from(zipArchive(TWO, { deflate: false })).fill('c', 90, 100));
    await expect(read(path)).rejects.toThrow(ZipFault);
  });

  test('that names files outside of its folder is rejected', async () => {
    await expect(read(file(zipArchive([{ name: '../x.json', content: '' }])))).rejects.toThrow(ZipFault);
  });
});
