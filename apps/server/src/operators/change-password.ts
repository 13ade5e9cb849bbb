import type { PasswordChange } from '@tidegate/protocol/sessions-api';
import { appendEvent } from '../events/append-event.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { demandFreshFactor } from '../platform/http/step-up.ts';
import type { Platform } from '../platform/platform.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import { notifySelf } from './notices.ts';
import type { Passwords } from './passwords.ts';
import { markProven } from './sessions-store.ts';
import { findOperator, revokeOtherSessions, updateOperator } from './store.ts';

/**
 * A new password for oneself, which ends the other sessions. The present one is asked for, and guesses at it count as
 * logins of that name do: a session left open must not become an account.
 */
export async function changeOwnPassword(
  { platform, limiter, passwords }: { platform: Platform; limiter: Limiter; passwords: Passwords },
  { caller, asked }: { caller: OperatorCaller; asked: PasswordChange },
): Promise<void> {
  const { operatorId, username, sessionId } = caller;
  // The body proves the password; where there is a second factor it is asked for as well.
  if (caller.secondFactor.methods.length > 0) demandFreshFactor(caller);
  enforceLimit(limiter, { limitClass: 'login', key: `user:${username}` });
  const operator = await findOperator(platform.database.read, operatorId);
  const matches = await passwords.verify(operator?.password_hash ?? null, asked.current_password);
  if (!operator || !matches) throw new Refusal('forbidden', { detail: 'The current password is wrong.' });
  const passwordHash = await passwords.hash(asked.new_password);
  await platform.database.transact(async (tx) => {
    const current = await findOperator(tx, operatorId);
    if (current?.password_hash !== operator.password_hash) {
      throw new Refusal('conflict', { detail: 'The password was changed in the meantime.' });
    }
    const proven = { password_at: platform.now() };
    if (!(await markProven(tx, { id: sessionId, proven }))) {
      throw new Refusal('access_token_invalid', { detail: 'This session has ended.' });
    }
    await updateOperator(tx, operatorId, { password_hash: passwordHash });
    await revokeOtherSessions(tx, { operatorId, keptSessionId: sessionId, nowMs: platform.now() });
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'OPERATOR_CHANGED',
      severity: 'warning',
      component: 'operators',
      actor: username,
      content: { change: 'own_password', operator_id: operatorId, username },
    });
    await notifySelf(tx, platform, { caller, kind: 'password_changed' });
  });
}
