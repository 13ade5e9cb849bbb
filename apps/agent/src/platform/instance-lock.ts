import { holdFileLock } from './lock-posix.ts';
import type { LockOutcome, LockSystem } from './lock-system.ts';
import { holdNamedMutex } from './lock-windows.ts';
import { openNativeLibrary } from './native-library.ts';

const OWN_SYSTEM: LockSystem = {
  platform: process.platform,
  processor: process.arch,
  openLibrary: openNativeLibrary,
};

/** Takes the exclusive lock of a folder at once or not at all; it never waits. */
export async function holdInstanceLock(folder: string, system = OWN_SYSTEM): Promise<LockOutcome> {
  return system.platform === 'win32' ? holdNamedMutex(system) : holdFileLock(folder, system);
}
