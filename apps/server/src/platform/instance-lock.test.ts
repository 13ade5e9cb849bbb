import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startSpawnStorm } from '@tidegate/testkit/spawn-storm';
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

/** A process that requests the folder, prints whether it has it, and stays. */
async function startAsker(folder: string) {
  const program = `const { holdInstanceLock } = await import(${JSON.stringify(join(import.meta.dirname, 'instance-lock.ts'))});
    globalThis.lock = holdInstanceLock(process.argv[1]);
    console.log(globalThis.lock === null ? 'refused' : 'held');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const [said] = await once(child.stdout, 'data');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { said: String(said).trim(), kill };
}

test('another process has the folder until it ends, also by kill -9', async () => {
  using folder = tmpDir();
  const other = await startAsker(folder.path);
  try {
    expect(other.said).toBe('held');
    expect(holdInstanceLock(folder.path)).toBeNull();
  } finally {
    await other.kill();
  }
  const lock = holdInstanceLock(folder.path);
  expect(lock).not.toBeNull();
  lock?.release();
});

// The kernel drops a process's POSIX locks of a file at its first close(2) of any descriptor of it.
test('a second attempt of the same process, closed again, does not end the lock', async () => {
  using folder = tmpDir();
  const lock = holdInstanceLock(folder.path);
  expect(holdInstanceLock(folder.path)).toBeNull();
  const other = await startAsker(folder.path);
  await other.kill();
  expect(other.said).toBe('refused');
  lock?.release();
});

const STORM_ROUNDS = process.env.TIDEGATE_LONG === '1' ? 10_000 : 500;
/** Programs that run to their end meanwhile: on a busy machine none may, in so few rounds. */
const STORM_PROGRAMS = 3;

test('a released folder is free immediately while programs are started', async () => {
  using folder = tmpDir();
  const storm = await startSpawnStorm();
  let refusals = 0;
  for (let round = 0; round < STORM_ROUNDS || storm.programs() < STORM_PROGRAMS; round += 1) {
    const lock = holdInstanceLock(folder.path);
    if (lock === null) refusals += 1;
    lock?.release();
  }
  await storm.stop();
  expect(refusals).toBe(0);
});
