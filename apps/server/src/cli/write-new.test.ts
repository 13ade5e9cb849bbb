import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTool, runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';

const strace = findTool('strace');
const MODULE = join(import.meta.dirname, 'write-new.ts');
const PROGRAM = `const { writeNew } = await import(process.argv[1]);
await writeNew(process.argv[2], (async function* () { yield ['a line']; })());`;

test.skipIf(strace === null)(
  'a new file is on disk before its name is, and both before it counts as written',
  async () => {
    using folder = tmpDir();
    const [path, log] = [join(folder.path, 'archive'), join(folder.path, 'strace.log')];
    const node = [process.execPath, '--input-type=module', '-e', PROGRAM, MODULE, path];
    await runTool(String(strace), ['-f', '-yy', '-o', log, '-e', 'trace=fsync', ...node]);
    const synced = [...readFileSync(log, 'utf8').matchAll(/fsync\(\d+<([^>]*)>\)\s+= 0/g)].map(
      ([, name]) => name,
    );
    expect(synced).toEqual([path, folder.path]);
  },
);
