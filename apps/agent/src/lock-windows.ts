import type { LockOutcome } from './instance-lock.ts';
import { openNativeLibrary } from './native-library.ts';

/** The name is the specification's (section 5). */
export const MUTEX_NAME = 'Global\\ServiceAgent_v1';
const WAIT_OBJECT_0 = 0;
const WAIT_ABANDONED = 0x80;

/** Takes the named kernel mutex. An abandoned one was held by a process that died and is ours. */
export async function holdNamedMutex(): Promise<LockOutcome> {
  const kernel = await openNativeLibrary(['kernel32.dll'], {
    CreateMutexW: { args: ['pointer', 'i32', 'pointer'], returns: 'pointer' },
    WaitForSingleObject: { args: ['pointer', 'u32'], returns: 'u32' },
    ReleaseMutex: { args: ['pointer'], returns: 'i32' },
    CloseHandle: { args: ['pointer'], returns: 'i32' },
  });
  if (!kernel.ok) return { ok: false, reason: 'unavailable', detail: kernel.detail };
  const name = Buffer.from(`${MUTEX_NAME}\0`, 'utf16le');
  const handle = kernel.call('CreateMutexW', null, 0, name);
  if ((typeof handle !== 'number' && typeof handle !== 'bigint') || Number(handle) === 0) {
    // A mutex of another user cannot be opened, so this is "held" as well.
    return { ok: false, reason: 'held', detail: `the mutex ${MUTEX_NAME} cannot be opened` };
  }
  // The wait tells who has it without GetLastError, which the runtime's own calls may have overwritten.
  const waited = kernel.call('WaitForSingleObject', handle, 0);
  if (waited !== WAIT_OBJECT_0 && waited !== WAIT_ABANDONED) {
    kernel.call('CloseHandle', handle);
    return { ok: false, reason: 'held', detail: `another agent process holds ${MUTEX_NAME}` };
  }
  const release = () => {
    kernel.call('ReleaseMutex', handle);
    kernel.call('CloseHandle', handle);
  };
  return { ok: true, lock: { release } };
}
