import type { FactorMethod, StepUpMethod } from '@tidegate/protocol/factors-api';
import { Refusal } from './refusal.ts';

/** How long a proof of a second factor is fresh, in milliseconds. */
export const STEP_UP_LIFETIME_MS = 600_000;

/** How long a proof of the password is fresh, in milliseconds. */
export const PASSWORD_LIFETIME_MS = 300_000;

/** The caller's second factors, and whether this session has a fresh proof of one, and of the password. */
export interface SecondFactor {
  readonly methods: readonly FactorMethod[];
  readonly isFresh: boolean;
  readonly isPasswordFresh: boolean;
  /** What logs the caller in: a proof of either counts as that of the password. */
  readonly credentials: readonly ('password' | 'provider')[];
  /** Whether a sign-in at the provider of this session proves a second factor too. */
  readonly isProviderFactor: boolean;
}

interface WithFactor {
  readonly secondFactor: SecondFactor;
}

/** For callers who are never asked, such as API tokens: making a token required a fresh proof. */
export const NO_SECOND_FACTOR: SecondFactor = {
  ...{ methods: [], isFresh: false, isPasswordFresh: true },
  ...{ credentials: ['password'], isProviderFactor: false },
};

/**
 * Throws `step_up_required` without a fresh proof of a second factor, or of the password where there is no
 * factor.
 */
export function demandFreshFactor({ secondFactor }: WithFactor): void {
  const { methods, isProviderFactor } = secondFactor;
  if (methods.length === 0 && !isProviderFactor) {
    demandFreshPassword({ secondFactor });
    return;
  }
  if (secondFactor.isFresh) return;
  throw new Refusal('step_up_required', {
    detail: 'This requires a second factor verified in the last 10 minutes.',
    extra: { methods: [...methods, ...(isProviderFactor ? ['provider'] : [])] satisfies string[] },
  });
}

/** For changes that outlive the session: demands the password, and a second factor where there is one. */
export function demandFreshCredentials(caller: WithFactor): void {
  demandFreshPassword(caller);
  demandFreshFactor(caller);
}

function demandFreshPassword({ secondFactor }: WithFactor): void {
  if (secondFactor.isPasswordFresh) return;
  const { credentials } = secondFactor;
  throw new Refusal('step_up_required', {
    detail: credentials.includes('password')
      ? 'This requires your password, entered in the last 5 minutes.'
      : 'This requires that you signed in at your identity provider in the last 5 minutes.',
    extra: { methods: credentials satisfies readonly StepUpMethod[] },
  });
}
