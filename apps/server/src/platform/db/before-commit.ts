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

/** Where many pieces of one kind are gathered, to be worked off together. */
export interface Gathering<T> {
  /** Puts a piece off to the end of the transaction, with those that came before. */
  add(tx: Tx, piece: T): void;
}

/** Pieces of one kind are worked off together, in the order in which they came. */
export function createGathering<T>(workOff: (tx: Tx, pieces: readonly T[]) => Promise<void>): Gathering<T> {
  /** By the work that will take them: what a transaction puts off is forgotten with it when it fails. */
  const gathered = new WeakMap<Work, T[]>();
  return {
    add(tx, piece) {
      const pieces = waiting
        .get(tx)
        ?.map((work) => gathered.get(work))
        .find(Boolean);
      if (pieces) {
        pieces.push(piece);
        return;
      }
      const some = [piece];
      const work = async () => {
        // What comes from now on is for another piece of work.
        gathered.delete(work);
        await workOff(tx, some);
      };
      gathered.set(work, some);
      beforeCommit(tx, work);
    },
  };
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
