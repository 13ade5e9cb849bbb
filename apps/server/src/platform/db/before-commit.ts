import type { Tx } from './engine.ts';

type Work = () => Promise<void>;

const waiting = new WeakMap<Tx, Work[]>();

/**
 * Puts work off to the end of the transaction: a lock that every writer takes is then the last one that any of them
 * takes, so that no two can wait for each other, and it is held for no longer than the commit needs.
 */
export function beforeCommit(tx: Tx, work: Work): void {
  const works = waiting.get(tx);
  if (works) works.push(work);
  else waiting.set(tx, [work]);
}

/** For what runs transactions: does the work and then what was put off, in the order in which it was. */
export function withWorkBeforeCommit<T>(work: (tx: Tx) => Promise<T>): (tx: Tx) => Promise<T> {
  return async (tx) => {
    // One that failed on the same object leaves what it had put off behind.
    waiting.delete(tx);
    const result = await work(tx);
    for (const putOff of waiting.get(tx) ?? []) await putOff();
    waiting.delete(tx);
    return result;
  };
}
