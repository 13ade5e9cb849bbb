import { hash, verify } from '@node-rs/argon2';
import type { RandomBytes } from '../../platform/ids.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';

/** argon2id with 19 MiB, two passes, one lane (OWASP; about 46 ms). */
export const PASSWORD_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Hashes that run at once: each takes a thread of the pool that files and DNS need too. */
const RUNNING_MAX = 2;
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
  running = RUNNING_MAX,
}: {
  random: RandomBytes;
  cost?: typeof PASSWORD_COST;
  /** Of the pool's four threads; RUNNING_MAX unless set. */
  running?: number;
}): Passwords {
  const inTurn = createWorkQueue({ running, waiting: WAITING_MAX, what: 'logins', random });
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
