import { readFileSync, readlinkSync } from 'node:fs';
import { cLibraries, openNativeLibrary } from './native-library.ts';

const DONT_NEED = 4; // MADV_DONTNEED of Linux, the same on every processor that we build for

/** Where code lies in this process, in bytes. */
export interface CodeMapping {
  start: bigint;
  length: bigint;
}

/** Releases memory that is not needed while waiting. Does nothing where the system does not support it. */
export interface SpareMemory {
  /** Collects garbage; takes milliseconds, so call it only after work. */
  collectGarbage(): void;
  /** Drops resident code pages; the kernel reloads them when needed. */
  releaseCode(): void;
}

/** Opens it for this process. */
export async function openSpareMemory(): Promise<SpareMemory> {
  return { collectGarbage, releaseCode: await openCodeRelease() };
}

async function openCodeRelease(): Promise<() => void> {
  if (process.platform !== 'linux') return () => {};
  const signatures = { madvise: { args: ['u64', 'u64', 'i32'], returns: 'i32' } } as const;
  const libc = await openNativeLibrary(cLibraries(), signatures);
  if (!libc.ok) return () => {};
  const mappings = codeMappings(readFileSync('/proc/self/smaps', 'latin1'), readlinkSync('/proc/self/exe'));
  return () => {
    for (const { start, length } of mappings) libc.call('madvise', start, length, DONT_NEED);
  };
}

/**
 * The parts of the program file that are mapped to be run or read and hold no page of this process's own: only these
 * can be dropped without losing anything. The file is named by `program`; it stays where it is for the life of the
 * process, which is true of nothing else that is mapped. `smaps` is the text of /proc/self/smaps.
 */
export function codeMappings(smaps: string, program: string): CodeMapping[] {
  const found: CodeMapping[] = [];
  let current: CodeMapping | null = null;
  for (const line of smaps.split('\n')) {
    const [, from, to, mode, path] = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ +(.*)$/.exec(line) ?? [];
    if (from !== undefined && to !== undefined) {
      const start = BigInt(`0x${from}`);
      const isCode = path === program && (mode === 'r-xp' || mode === 'r--p');
      current = isCode ? { start, length: BigInt(`0x${to}`) - start } : null;
    }
    if (current !== null && /^Anonymous: +0 kB$/.test(line)) found.push(current);
  }
  return found;
}

function collectGarbage(): void {
  const bun: unknown = Reflect.get(globalThis, 'Bun'); // its types would bring all of its globals
  if (typeof bun !== 'object' || bun === null || !('gc' in bun)) return;
  if (typeof bun.gc === 'function') bun.gc(true);
}
