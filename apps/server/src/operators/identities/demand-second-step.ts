import { Refusal } from '../../platform/http/refusal.ts';
import type { LiveSession } from '../store.ts';

/**
 * Throws `step_up_required` in a session that a provider opened for an operator with a second factor, until that was
 * proven: like the password, the account alone opens nothing.
 */
export function demandSecondStep(
  session: Pick<LiveSession, 'method' | 'factors' | 'second_factor_at'>,
): void {
  const { method, factors, second_factor_at } = session;
  if (method !== 'provider' || factors.length === 0 || second_factor_at !== null) return;
  throw new Refusal('step_up_required', {
    detail: 'You are signed in at your identity provider; your second factor is needed as well.',
    extra: { methods: factors, opens_session: true },
  });
}
