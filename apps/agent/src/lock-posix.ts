import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './file-layer.ts';
import type { LockOutcome, LockSystem } from './instance-lock.ts';
import { cLibraries } from './native-library.ts';

const LOCK_NAME = 'agent.lock';
// sys/file.h, the same on Linux and macOS.
const LOCK_EXCLUSIVE_NOW = 2 | 4;

/** Locks `agent.lock` in the folder with flock(2), which ends with the process however that ends. */
export async function holdFileLock(folder: string, system: LockSystem): Promise<LockOutcome> {
  const signatures = { flock: { args: ['i32', 'i32'], returns: 'i32' } } as const;
  const libc = await system.openLibrary(cLibraries(system), signatures);
  if (!libc.ok) {
    return { ok: false, reason: 'unavailable', detail: `no C library with flock was found (${libc.detail})` };
  }
  const path = join(folder, LOCK_NAME);
  let fd: number;
  try {
    // Node and Bun open with O_CLOEXEC: a child that outlives us does not keep the lock.
    fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    return { ok: false, reason: 'unavailable', detail: `${path} cannot be opened (${errorCode(error)})` };
  }
  if (libc.call('flock', fd, LOCK_EXCLUSIVE_NOW) !== 0) {
    // errno is out of reach: the runtime's own calls may have overwritten it. Whatever it was, there is no lock.
    closeSync(fd);
    return { ok: false, reason: 'held', detail: `another agent process is running on ${folder}` };
  }
  return { ok: true, lock: { release: () => closeSync(fd) } };
}
