import { describe, expect, test } from 'vitest';
import { recordedLibrary } from '../testing/recorded-library.ts';
import { holdInstanceLock } from './instance-lock.ts';

const HANDLE = 0x1a4;
const TAKEN = {
  CreateMutexW: () => HANDLE,
  WaitForSingleObject: () => 0,
  ReleaseMutex: () => 1,
  CloseHandle: () => 1,
  GetLastError: () => 0,
};

function hold(answers: Parameters<typeof recordedLibrary>[0]) {
  const library = recordedLibrary(answers);
  const system = { platform: 'win32', processor: 'x64', openLibrary: library.open } as const;
  return { ...library, outcome: holdInstanceLock('C:\\ProgramData\\Tidegate', system) };
}

describe('the named mutex of Windows (section 5)', () => {
  test('is made by its name, taken without waiting, and given back', async () => {
    const { outcome, calls, opened } = hold(TAKEN);
    const held = await outcome;
    expect(opened[0]?.candidates).toEqual(['kernel32.dll']);
    expect(calls).toEqual([
      ['CreateMutexW', null, 0, 'Global\\ServiceAgent_v1\0'],
      ['WaitForSingleObject', HANDLE, 0],
    ]);
    if (!held.ok) throw new Error(held.detail);
    held.lock.release();
    expect(calls.slice(2)).toEqual([
      ['ReleaseMutex', HANDLE],
      ['CloseHandle', HANDLE],
    ]);
  });

  test.each([
    ['taken', 0, { ok: true }],
    ['abandoned by a process that died', 0x80, { ok: true }],
    ['held by another process', 0x102, { ok: false, reason: 'held' }],
    [
      'not to be waited for',
      0xffffffff,
      { ok: false, reason: 'unavailable', detail: expect.stringContaining('error 6') },
    ],
  ])('that is %s', async (_, waited, expected) => {
    const { outcome, calls } = hold({ ...TAKEN, WaitForSingleObject: () => waited, GetLastError: () => 6 });
    expect(await outcome).toMatchObject(expected);
    const isClosed = calls.some(([name]) => name === 'CloseHandle');
    expect(isClosed).toBe(!expected.ok);
    expect(calls.some(([name]) => name === 'ReleaseMutex')).toBe(false); // it is not ours to give back
  });

  test.each([
    ['of another user (access denied)', 0, 5, 'held'],
    ['that cannot be made', 0, 8, 'unavailable'],
    ['whose handle is a 64-bit null', 0n, 8, 'unavailable'],
    ['without an answer', undefined, 8, 'unavailable'],
  ])('%s is no lock', async (_, handle, code, reason) => {
    const { outcome, calls } = hold({ ...TAKEN, CreateMutexW: () => handle, GetLastError: () => code });
    expect(await outcome).toMatchObject({ ok: false, reason });
    expect(calls.map(([name]) => name)).not.toContain('WaitForSingleObject');
  });

  test('a handle that comes as a 64-bit number is one', async () => {
    const { outcome, calls } = hold({ ...TAKEN, CreateMutexW: () => 0x1_0000_0001n });
    expect((await outcome).ok).toBe(true);
    expect(calls[1]).toEqual(['WaitForSingleObject', 0x1_0000_0001n, 0]);
  });

  test('a system without the library gives no lock', async () => {
    expect(await hold(null).outcome).toMatchObject({ ok: false, reason: 'unavailable' });
  });
});
