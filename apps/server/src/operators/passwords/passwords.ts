import { hash, verify } from '@node-rs/argon2';
import type { RandomBytes } from '../../platform/ids.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import { NO_PASSWORD } from './no-password.ts';

/** argon2id with 19 MiB, two passes, one lane (OWASP; about 46 ms). */
export const PASSWORD_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Hashes that run at once: each takes a thread of the pool that files and DNS also need. */
const RUNNING_MAX = 2;
/** Hashes that wait; the next one is refused with Retry-After. */
const WAITING_MAX = 32;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** For an unknown operator (`null`), and one without a password: false, after the same time. */
  verify(passwordHash: string | null, password: string): Promise<boolean>;
}

export function createPasswords({
  random,
  cost = PASSWORD_COST,
  running = RUNNING_MAX,
}: {
  random: RandomBytes;
  cost?: typeof PASSWORD_COST;
  /** Of the thread pool's four; RUNNING_MAX by default. */
  running?: number;
}): Passwords {
  const inTurn = createWorkQueue({ running, waiting: WAITING_MAX, what: 'logins', random });
  let dummyHash: Promise<string> | null = null;
  return {
    hash: (password) => inTurn(() => hash(password, cost)),
    verify(passwordHash, password) {
      return inTurn(async () => {
        dummyHash ??= hash(random(32), cost);
        const known = passwordHash === NO_PASSWORD ? null : passwordHash;
        const matches = await verify(known ?? (await dummyHash), password);
        return matches && known !== null;
      });
    },
  };
}
