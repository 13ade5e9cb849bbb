import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { holdInstanceLock } from '../platform/instance-lock.ts';
import { READY_MARK } from './job-folder.ts';
import { awaitResult, type Executor } from './start-executor.ts';

const stopped = AbortSignal.abort();
const running = new AbortController().signal;

test('a job of systemd is open as long as its mark is there', async () => {
  using dir = tmpDir();
  const commandId = randomUUID();
  const access: Executor = { how: 'systemd', spool: dir.path, state: dir.path };
  const job = { folder: join(dir.path, commandId), commandId };
  expect(await awaitResult(access, job, running)).toBeNull();
  mkdirSync(job.folder);
  writeFileSync(join(job.folder, READY_MARK), '');
  expect(await awaitResult(access, job, stopped)).toBe('left');
});

test('a job that a root agent started is open as long as the executor holds its lock', async () => {
  using dir = tmpDir();
  const commandId = randomUUID();
  const access: Executor = { how: 'unshare', program: '/bin/false', spool: dir.path, state: dir.path };
  const job = { folder: join(dir.path, commandId), commandId };
  const locked = await holdInstanceLock(dir.path);
  expect(await awaitResult(access, job, stopped)).toBe('left');
  if (locked.ok) locked.lock.release();
  expect(await awaitResult(access, job, running)).toBeNull();
});
