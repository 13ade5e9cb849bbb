import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { noteFactorDemand } from './sessions/store.ts';
import type { LiveSession, OperatorRow } from './store.ts';

/** Who has to have a second factor (SERVICE_SECOND_FACTOR), and how long there is time for it. */
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

/** For who logs in without a second factor: from when on that is not enough; null where it always is. */
export async function readFactorDue(
  tx: Tx,
  { operator, policy, nowMs }: { operator: OperatorRow; policy: FactorPolicy; nowMs: number },
): Promise<number | null> {
  if (!isFactorDemanded(policy, operator)) return null;
  const since = await noteFactorDemand(tx, { operatorId: operator.id, nowMs });
  return since + policy.graceMs;
}

/** Throws `second_factor_missing` where the time for enrolling one is over. */
export function demandEnrolled(session: Pick<LiveSession, 'factor_due_at' | 'factors'>, nowMs: number): void {
  const { factor_due_at: dueAt, factors } = session;
  if (dueAt === null || nowMs < dueAt || factors.length > 0) return;
  throw new Refusal('second_factor_missing', {
    detail:
      'This server asks for a second factor and you have none: add an authenticator app or a passkey to your account first.',
  });
}
