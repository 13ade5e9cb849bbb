import { setFlagsFromString } from 'node:v8';

/**
 * What a place in the program makes begins in the young part of the heap, also where the first hundred of it stayed alive. V8
 * would begin it in the old part for good then: parts of each connection, which keep the rest of it until a whole collection.
 */
export const BEGIN_YOUNG = '--no-allocation-site-pretenuring';

/**
 * Keeps what is over out of the old part of the heap of a server and of each worker: V8 lets that grow to up to four times of
 * what is alive, and a process gives little of it back (decision 0135).
 */
export function beginYoung(): void {
  setFlagsFromString(BEGIN_YOUNG);
}
