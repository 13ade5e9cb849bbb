import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { tmpDir } from './tmp.ts';

test('a temporary directory is private, and gone when its block ends', () => {
  let path = '';
  {
    using dir = tmpDir();
    path = dir.path;
    writeFileSync(join(path, 'file'), 'x');
    expect(statSync(path).mode & 0o777).toBe(0o700);
  }
  expect(existsSync(path)).toBe(false);
});

describe.skipIf(process.platform === 'win32')('without a block', () => {
  const module = fileURLToPath(new URL('./tmp.ts', import.meta.url));
  const load = `const { tmpDir } = await import(${JSON.stringify(module)});`;
  const made = `${load} process.stdout.write(tmpDir().path);`;
  const killed = `${load} process.stdout.write(tmpDir().path, () => process.kill(process.pid, 'SIGKILL'));
    setInterval(() => {}, 1e6);`;
  const inWorker = `const { parentPort } = await import('node:worker_threads'); ${load}
    parentPort.postMessage(tmpDir().path);
    setInterval(() => {}, 1e6);`;
  const terminated = `const { Worker } = await import('node:worker_threads');
    const worker = new Worker(${JSON.stringify(inWorker)}, { eval: true });
    worker.once('message', (path) => process.stdout.write(path, () => worker.terminate()));`;

  test.each([
    ['ends by itself', made],
    ['throws', `${made} throw new Error('on purpose');`],
    ['is killed', killed],
    ['terminates the worker thread that made it', terminated],
  ])('a temporary directory is gone after a process that %s', async (_how, code) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [path, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect(path, errors).toMatch(/tidegate-/);
    expect(existsSync(path)).toBe(false);
  });
});
