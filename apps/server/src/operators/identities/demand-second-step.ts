import { Refusal } from '../../platform/http/refusal.ts';
import type { LiveSession } from '../store.ts';

type Begun = Pick<LiveSession, 'method' | 'factors' | 'second_factor_at'>;

/**
 * Throws `step_up_required` in a session that a provider opened for an operator with a second factor, until that was
 * proven: like the password, the account alone opens nothing.
 */
export function demandSecondStep(session: Begun): void {
  if (!needsSecondStep(session)) return;
  throw new Refusal('step_up_required', {
    detail: 'You are signed in at your identity provider; your second factor is needed as well.',
    extra: { methods: session.factors },
  });
}

export function needsSecondStep({ method, factors, second_factor_at }: Begun): boolean {
  return method === 'provider' && factors.length > 0 && second_factor_at === null;
}
