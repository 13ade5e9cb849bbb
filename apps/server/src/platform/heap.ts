import { setFlagsFromString } from 'node:v8';

/** How much the heap of a server grows beyond what was alive after the last whole collection, before the next one. */
export const HEAP_GROWTH = '--heap-growing-percent=60';

/**
 * Bounds the memory of a server and of each worker. By itself V8 lets a heap that is busy grow to up to four times of what is
 * alive, and a process gives little of it back (decision 0133).
 */
export function boundHeap(): void {
  setFlagsFromString(HEAP_GROWTH);
}
