import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './file-layer.ts';
import type { LockOutcome, LockSystem } from './lock-system.ts';
import { cLibraries } from './native-library.ts';

const LOCK_NAME = 'agent.lock';
// sys/file.h, the same on Linux and macOS.
const LOCK_EXCLUSIVE_NOW = 2 | 4;
const UNLOCK = 8;
/** A signal can interrupt flock(2) on a network file system; a lock that is held refuses every time. */
const TRIES = 3;

/** Calls flock(2), again where it fails; false when every try failed. */
type Flock = (fd: number, operation: number) => boolean;

/** Locks `agent.lock` in the folder with flock(2), which ends with the process however that ends. */
export async function holdFileLock(folder: string, system: LockSystem): Promise<LockOutcome> {
  const signatures = { flock: { args: ['i32', 'i32'], returns: 'i32' } } as const;
  const libc = await system.openLibrary(cLibraries(system), signatures);
  if (!libc.ok) return unavailable(`no C library with flock was found (${libc.detail})`);
  const flock: Flock = (fd, operation) => {
    for (let tries = 0; tries < TRIES; tries += 1) if (libc.call('flock', fd, operation) === 0) return true;
    return false;
  };
  const path = join(folder, LOCK_NAME);
  let fd: number;
  try {
    // Node and Bun open with O_CLOEXEC: a program that outlives us does not keep the lock.
    fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    return unavailable(`${path} cannot be opened (${errorCode(error)})`);
  }
  if (flock(fd, LOCK_EXCLUSIVE_NOW)) return { ok: true, lock: { release: () => release(fd, flock) } };
  closeSync(fd);
  const fault = findLockFault(folder, flock);
  if (fault !== null) return unavailable(`${path} cannot be locked: ${fault}`);
  return { ok: false, reason: 'held', detail: `another agent process is running on ${folder}` };
}

/** Closing alone does not release the lock: a just forked child shares the open file until exec closes its copy. */
function release(fd: number, flock: Flock): void {
  flock(fd, UNLOCK);
  closeSync(fd);
}

/**
 * Why a folder does not support locks; null when it does, and a refused lock is held by another process. Tested
 * with a new private file, as the runtime's own calls may overwrite errno.
 */
function findLockFault(folder: string, flock: Flock): string | null {
  const path = join(folder, `.${LOCK_NAME}.${randomUUID()}`);
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  } catch (error) {
    return `whether another process holds it cannot be told (${errorCode(error)})`;
  }
  try {
    unlinkSync(path);
    return flock(fd, LOCK_EXCLUSIVE_NOW) ? null : 'the file system gives no locks';
  } finally {
    closeSync(fd);
  }
}

function unavailable(detail: string): LockOutcome {
  return { ok: false, reason: 'unavailable', detail };
}
