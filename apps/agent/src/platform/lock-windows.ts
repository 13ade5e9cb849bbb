import type { LockOutcome, LockSystem } from './lock-system.ts';

/** The name is the specification's (section 5). */
export const MUTEX_NAME = 'Global\\ServiceAgent_v1';
const WAIT_OBJECT_0 = 0;
const WAIT_ABANDONED = 0x80;
const WAIT_TIMEOUT = 0x102;
const ERROR_ACCESS_DENIED = 5;

/** Takes the named kernel mutex. An abandoned one was held by a process that died and is ours. */
export async function holdNamedMutex(system: Pick<LockSystem, 'openLibrary'>): Promise<LockOutcome> {
  const kernel = await system.openLibrary(['kernel32.dll'], {
    CreateMutexW: { args: ['pointer', 'i32', 'pointer'], returns: 'pointer' },
    WaitForSingleObject: { args: ['pointer', 'u32'], returns: 'u32' },
    ReleaseMutex: { args: ['pointer'], returns: 'i32' },
    CloseHandle: { args: ['pointer'], returns: 'i32' },
    GetLastError: { args: [], returns: 'u32' },
  });
  if (!kernel.ok) return { ok: false, reason: 'unavailable', detail: kernel.detail };
  // The code is for people, and may be that of a later call of the runtime; either way there is no lock.
  const unavailable = (what: string): LockOutcome => {
    const code = String(kernel.call('GetLastError'));
    return { ok: false, reason: 'unavailable', detail: `the mutex ${MUTEX_NAME} ${what} (error ${code})` };
  };
  const held = (): LockOutcome => {
    return { ok: false, reason: 'held', detail: `another agent process holds ${MUTEX_NAME}` };
  };
  const name = Buffer.from(`${MUTEX_NAME}\0`, 'utf16le');
  const handle = kernel.call('CreateMutexW', null, 0, name);
  if ((typeof handle !== 'number' && typeof handle !== 'bigint') || Number(handle) === 0) {
    // One that another user made cannot be opened.
    return kernel.call('GetLastError') === ERROR_ACCESS_DENIED ? held() : unavailable('cannot be made');
  }
  // The wait tells who has it without an error code.
  const waited = kernel.call('WaitForSingleObject', handle, 0);
  if (waited !== WAIT_OBJECT_0 && waited !== WAIT_ABANDONED) {
    const outcome = waited === WAIT_TIMEOUT ? held() : unavailable('cannot be waited for');
    kernel.call('CloseHandle', handle);
    return outcome;
  }
  const release = () => {
    kernel.call('ReleaseMutex', handle);
    kernel.call('CloseHandle', handle);
  };
  return { ok: true, lock: { release } };
}
