import { setFlagsFromString } from 'node:v8';

/** How much the heap of a server grows beyond what was alive after the last whole collection, before the next one. */
export const HEAP_GROWTH = '--heap-growing-percent=60';
/**
 * What a place in the program makes begins in the young part of the heap, also where the first hundred of it stayed alive. V8
 * would begin it in the old part for good then: parts of each connection, which keep the rest of it until a whole collection.
 */
export const BEGIN_YOUNG = '--no-allocation-site-pretenuring';

/**
 * Bounds the memory of a server and of each worker. By itself V8 lets a heap that is busy grow to up to four times of what is
 * alive, and a process gives little of it back (decisions 0133 and 0135).
 */
export function boundHeap(): void {
  for (const flag of [HEAP_GROWTH, BEGIN_YOUNG]) setFlagsFromString(flag);
}
