import { hash, verify } from '@node-rs/argon2';
import { Refusal } from '../platform/http/refusal.ts';
import type { RandomBytes } from '../platform/ids.ts';

/** argon2id with 19 MiB, two passes, one lane (OWASP; about 46 ms). */
export const PASSWORD_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Hashes that run at once: each takes a thread of the pool that files and DNS need too. */
const CONCURRENCY_MAX = 2;
/** Hashes that wait for their turn; the next one is told to come back. */
const WAITING_MAX = 32;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes the same time for an operator who does not exist (`null`), and is then false. */
  verify(passwordHash: string | null, password: string): Promise<boolean>;
}

export function createPasswords({
  random,
  cost = PASSWORD_COST,
}: {
  random: RandomBytes;
  cost?: typeof PASSWORD_COST;
}): Passwords {
  const inTurn = createTurns();
  let dummyHash: Promise<string> | null = null;
  return {
    hash: (password) => inTurn(() => hash(password, cost)),
    verify(passwordHash, password) {
      return inTurn(async () => {
        dummyHash ??= hash(random(32), cost);
        const matches = await verify(passwordHash ?? (await dummyHash), password);
        return matches && passwordHash !== null;
      });
    },
  };
}

function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= CONCURRENCY_MAX) {
      if (waiting.length >= WAITING_MAX) {
        throw new Refusal('unavailable', { detail: 'Too many logins at once.', retryAfterSeconds: 5 });
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      // The one that ends hands its place over, so the count stays as it is.
      await promise;
    } else {
      running++;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
