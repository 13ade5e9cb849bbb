import type { FactorMethod, StepUpMethod } from '@tidegate/protocol/factors-api';
import { Refusal } from './refusal.ts';

/** Age up to which a proof of a second factor counts for acts that ask for a fresh one, in milliseconds. */
export const STEP_UP_LIFETIME_MS = 600_000;

/** Age up to which a proof of the password counts, in milliseconds. */
export const PASSWORD_LIFETIME_MS = 300_000;

/** What a caller has enrolled beside the password, and whether one of it was proven lately in this session. */
export interface SecondFactor {
  readonly methods: readonly FactorMethod[];
  readonly isFresh: boolean;
  readonly isPasswordFresh: boolean;
}

interface WithFactor {
  readonly secondFactor: SecondFactor;
}

/** Of a caller who is never asked, such as an API token: making one asked who made it. */
export const NO_SECOND_FACTOR: SecondFactor = { methods: [], isFresh: false, isPasswordFresh: true };

/**
 * Throws `step_up_required` where the caller has not proven a second factor lately; where there is none, the password.
 */
export function demandFreshFactor({ secondFactor }: WithFactor): void {
  if (secondFactor.methods.length === 0) {
    demandFreshPassword({ secondFactor });
    return;
  }
  if (secondFactor.isFresh) return;
  throw new Refusal('step_up_required', {
    detail: 'This asks for a second factor that was proven in the last 10 minutes.',
    extra: { methods: secondFactor.methods },
  });
}

/** For what outlives the session: the password, and a second factor as well where there is one. */
export function demandFreshCredentials(caller: WithFactor): void {
  demandFreshPassword(caller);
  demandFreshFactor(caller);
}

function demandFreshPassword({ secondFactor }: WithFactor): void {
  if (secondFactor.isPasswordFresh) return;
  throw new Refusal('step_up_required', {
    detail: 'This asks for your password, given in the last 5 minutes.',
    extra: { methods: ['password'] satisfies StepUpMethod[] },
  });
}
