import { Refusal } from './http/refusal.ts';
import type { RandomBytes } from './ids.ts';

/** Seconds after which a caller who found no room is told to come back: between this and twice this. */
const RETRY_SECONDS = 5;

export interface WorkQueueOptions {
  /** Pieces of work that run at once. */
  running: number;
  /** Pieces of work that wait for their turn; the next one is refused. */
  waiting: number;
  /** What there is too much of, for the refusal: `logins`. */
  what: string;
  random: RandomBytes;
}

/** Runs work in turn, or throws the Refusal `unavailable` (503) where too much of it waits already. */
export type WorkQueue = <T>(work: () => Promise<T>) => Promise<T>;

/** One queue for each kind of expensive work: a flood of one kind sheds its own load and holds up no other. */
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

/** Lets so many pieces of work run at once. */
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
        // The one that ends hands its place over, so the count stays as it is.
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
    detail: `Too many ${what} at once; try again after the time in Retry-After.`,
    retryAfterSeconds: RETRY_SECONDS + jitterSeconds,
  });
}
