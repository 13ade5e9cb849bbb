import type { Clock } from '../../platform/clock.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { type GuessStates, statesInMemory } from './guess-states.ts';
import { admit, newGuesser, refundGuess, uncount } from './login-throttle-rules.ts';

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

/** No request is held; a throttled one gets the time to wait. */
export function createLoginThrottle({
  now,
  states = statesInMemory({ now }),
}: {
  now: Clock;
  states?: GuessStates;
}): LoginThrottle {
  return {
    async guess({ name, by }, { verify, onTurns }) {
      const isBudgeted = by.kind === 'address';
      const at = { guesser: `${by.kind} ${by.key} ${name}`, name: isBudgeted ? name : null };
      // Counted as wrong before the check, so that no burst passes.
      const admission = await states.change(at, (state) => admit(state, now()));
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
          await states.change(at, ({ guesser, budget }) => ({
            guesser: outcome === 'right' ? newGuesser() : uncount(guesser),
            budget: budget && refundGuess(budget),
          }));
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
