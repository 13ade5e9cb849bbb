import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { recordFactorDemand } from './sessions/store.ts';
import type { LiveSession, OperatorRow } from './store.ts';

/** Who must have a second factor (SERVICE_SECOND_FACTOR), and how long they have to enrol one. */
export interface FactorPolicy {
  who: 'optional' | 'admins' | 'everyone';
  graceMs: number;
}

export function isFactorDemanded({ who }: FactorPolicy, { role }: Pick<OperatorRow, 'role'>): boolean {
  switch (who) {
    case 'optional':
      return false;
    case 'admins':
      return role === 'admin';
    case 'everyone':
      return true;
  }
}

/** When logging in without a second factor stops being enough; null when it always is. */
export async function readFactorDue(
  tx: Tx,
  { operator, policy, nowMs }: { operator: OperatorRow; policy: FactorPolicy; nowMs: number },
): Promise<number | null> {
  if (!isFactorDemanded(policy, operator)) return null;
  const since = await recordFactorDemand(tx, { operatorId: operator.id, nowMs });
  return since + policy.graceMs;
}

/** Throws `second_factor_missing` when the time to enrol one is over. */
export function demandEnrolled(session: Pick<LiveSession, 'factor_due_at' | 'factors'>, nowMs: number): void {
  const { factor_due_at: dueAt, factors } = session;
  if (dueAt === null || nowMs < dueAt || factors.length > 0) return;
  throw new Refusal('second_factor_missing', {
    detail:
      'This server requires a second factor and you have none: add an authenticator app or a passkey to your account first.',
  });
}
