import { createPasswords, type Passwords } from '../operators/passwords/passwords.ts';
import type { RandomBytes } from '../platform/ids.ts';

/** A hash contains its cost: the server verifies these like its own, a thousand times faster. */
const TEST_COST = { memoryCost: 64, timeCost: 1, parallelism: 1 };

/** Passwords for tests of access, not of the cost of a guess. */
export function createCheapPasswords(random: RandomBytes): Passwords {
  return createPasswords({ random, cost: TEST_COST });
}
