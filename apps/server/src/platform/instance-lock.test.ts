import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { holdInstanceLock } from './instance-lock.ts';

test('a data folder has one holder at a time', () => {
  using folder = tmpDir();
  const first = holdInstanceLock(folder.path);
  expect(first).not.toBeNull();
  expect(holdInstanceLock(folder.path)).toBeNull();
  first?.release();
  const second = holdInstanceLock(folder.path);
  expect(second).not.toBeNull();
  second?.release();
});

test('another process has the folder until it is gone, also after kill -9', async () => {
  using folder = tmpDir();
  const program = `const { holdInstanceLock } = await import(${JSON.stringify(join(import.meta.dirname, 'instance-lock.ts'))});
    globalThis.lock = holdInstanceLock(process.argv[1]);
    console.log(globalThis.lock === null ? 'refused' : 'held');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, folder.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  try {
    const [said] = await once(child.stdout, 'data');
    expect(String(said).trim()).toBe('held');
    expect(holdInstanceLock(folder.path)).toBeNull();
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  const lock = holdInstanceLock(folder.path);
  expect(lock).not.toBeNull();
  lock?.release();
});
