import { Refusal } from './http/refusal.ts';
import type { RandomBytes } from './ids.ts';

/** Minimum seconds in Retry-After of a refusal; the maximum is twice this. */
const RETRY_SECONDS = 5;

export interface WorkQueueOptions {
  /** Concurrent pieces of work. */
  running: number;
  /** Waiting pieces of work; the next one is refused. */
  waiting: number;
  /** The overloaded work, for the refusal's text: `logins`. */
  what: string;
  random: RandomBytes;
}

/** Runs work in order, or throws the Refusal `unavailable` (503) if the queue is full. */
export type WorkQueue = <T>(work: () => Promise<T>) => Promise<T>;

/** One queue per kind of expensive work: a flood of one kind sheds its own load and delays no other. */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const turnstile = createTurnstile(options.running);
  return async (work) => {
    if (turnstile.waiting() >= options.waiting && turnstile.isFull()) throw overloaded(options);
    return turnstile.pass(work);
  };
}

export interface Turnstile {
  /** Runs the work when it is its turn, first come, first served. */
  pass: WorkQueue;
  isFull(): boolean;
  waiting(): number;
}

/** Limits the concurrent pieces of work. */
export function createTurnstile(most: number): Turnstile {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    isFull: () => running >= most,
    waiting: () => waiting.length,
    async pass(work) {
      if (running < most) running++;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        // The place passes to the next one, so the count is unchanged.
        await promise;
      }
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else running--;
      }
    },
  };
}

function overloaded({ what, random }: WorkQueueOptions): Refusal {
  const jitterSeconds = (random(1)[0] ?? 0) % (RETRY_SECONDS + 1);
  return new Refusal('unavailable', {
    detail: `Too many ${what} at once; retry after the time in Retry-After.`,
    retryAfterSeconds: RETRY_SECONDS + jitterSeconds,
  });
}
