import type { Clock } from '../../platform/clock.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { createBoundedTable } from './bounded-table.ts';
import {
  admit,
  isIdleBudget,
  isIdleGuesser,
  newBudget,
  newGuesser,
  refundGuess,
  uncount,
} from './login-throttle-rules.ts';

/** Names, and pairs of a name and its guesser, held in memory. */
export const THROTTLE_KEYS_MAX = 100_000;

/** Who guesses: an unknown device counts by its address, a known device and a session by themselves. */
export type GuessedBy =
  | { kind: 'address'; key: string }
  | { kind: 'device'; key: string }
  | { kind: 'session'; key: string };

export interface LoginThrottle {
  /**
   * Runs `verify` if the guess is allowed, and returns its result. Otherwise throws `rate_limited` with the time to
   * wait; `onTurns` is called first when the name switches to turns.
   */
  guess(
    at: { name: string; by: GuessedBy },
    act: { verify: () => Promise<boolean>; onTurns: () => Promise<void> },
  ): Promise<boolean>;
}

/** The state of `admit`, in memory: a restart forgets it. No request is held; a throttled one gets the time to wait. */
export function createLoginThrottle({
  now,
  keysMax = THROTTLE_KEYS_MAX,
}: {
  now: Clock;
  keysMax?: number;
}): LoginThrottle {
  const guessers = createBoundedTable({
    max: keysMax,
    isIdle: (one) => isIdleGuesser(one, now()),
    create: newGuesser,
  });
  const budgets = createBoundedTable({
    max: keysMax,
    isIdle: (one) => isIdleBudget(one, now()),
    create: () => newBudget(now()),
  });

  return {
    async guess({ name, by }, { verify, onTurns }) {
      const key = `${by.kind} ${by.key} ${name}`;
      const isBudgeted = by.kind === 'address';
      const guesser = guessers.get(key);
      const asked = { guesser, budget: isBudgeted ? budgets.get(name) : null };
      // Counted as wrong before the check, so that no burst passes.
      const admission = admit(asked, now());
      guessers.set(key, admission.guesser);
      if (admission.budget) budgets.set(name, admission.budget);
      if (!admission.ok) {
        if (admission.beganTurns) await onTurns();
        throw rateLimited(admission.waitMs);
      }
      let outcome: 'right' | 'wrong' | 'unknown' = 'unknown';
      try {
        outcome = (await verify()) ? 'right' : 'wrong';
        return outcome === 'right';
      } finally {
        if (outcome !== 'wrong') {
          if (outcome === 'right') guessers.set(key, newGuesser());
          else guessers.set(key, uncount(guessers.get(key)));
          if (isBudgeted) budgets.set(name, refundGuess(budgets.get(name)));
        }
      }
    },
  };
}

function rateLimited(waitMs: number): Refusal {
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  return new Refusal('rate_limited', {
    detail: `Too many passwords were tried: try again in ${retryAfterSeconds} seconds, not earlier.`,
    retryAfterSeconds,
    extra: { retry_after_seconds: retryAfterSeconds },
  });
}
