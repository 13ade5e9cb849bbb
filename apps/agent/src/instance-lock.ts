import { holdFileLock } from './lock-posix.ts';
import { holdNamedMutex } from './lock-windows.ts';

/** Section 5: two processes never share one config.json. The kernel drops the lock when the process is gone. */
export interface InstanceLock {
  release(): void;
}

export type LockOutcome =
  | { ok: true; lock: InstanceLock }
  /** `held`: another process is running on this configuration. `unavailable`: this system gives no lock. */
  | { ok: false; reason: 'held' | 'unavailable'; detail: string };

/** Takes the exclusive lock of a folder at once or not at all; it never waits. */
export async function holdInstanceLock(folder: string): Promise<LockOutcome> {
  return process.platform === 'win32' ? holdNamedMutex() : holdFileLock(folder);
}
