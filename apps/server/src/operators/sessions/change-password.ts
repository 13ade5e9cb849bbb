import type { PasswordChange } from '@tidegate/protocol/sessions-api';
import { appendEvent } from '../../events/append-event.ts';
import type { OperatorCaller } from '../../platform/http/access.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { demandFreshFactor } from '../../platform/http/step-up.ts';
import type { Platform } from '../../platform/platform.ts';
import { notifySelf } from '../notices/notices.ts';
import { demandSoundPassword } from '../passwords/common-passwords.ts';
import { hasPassword } from '../passwords/no-password.ts';
import type { Passwords } from '../passwords/passwords.ts';
import {
  findOperator,
  lockOperator,
  type OperatorRow,
  revokeOtherSessions,
  updateOperator,
} from '../store.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { lengthMark } from './open-session.ts';
import { markProven } from './store.ts';

/**
 * Changes one's own password and ends the other sessions. Asks for the present one, and throttles guesses at it per
 * session: a session left open must not become a stolen account. Returns the changed operator.
 */
export async function changeOwnPassword(
  { platform, throttle, passwords }: { platform: Platform; throttle: LoginThrottle; passwords: Passwords },
  { caller, asked }: { caller: OperatorCaller; asked: PasswordChange },
): Promise<OperatorRow> {
  const { operatorId, username, sessionId } = caller;
  // The body proves the password; an enrolled second factor must be proven as well.
  if (caller.secondFactor.methods.length > 0) demandFreshFactor(caller);
  const operator = await findOperator(platform.database.read, operatorId);
  if (operator && !hasPassword(operator)) {
    throw new Refusal('conflict', { detail: 'You have no password: your identity provider logs you in.' });
  }
  const hasSecondFactor = caller.secondFactor.methods.length > 0;
  demandSoundPassword({ password: asked.new_password, username, hasSecondFactor }, '/new_password');
  const isRight = await throttle.guess(
    { name: username, by: { kind: 'session', key: sessionId } },
    {
      verify: () => passwords.verify(operator?.password_hash ?? null, asked.current_password),
      onTurns: async () => {},
    },
  );
  if (!operator || !isRight) throw new Refusal('forbidden', { detail: 'The current password is wrong.' });
  const passwordHash = await passwords.hash(asked.new_password);
  return platform.database.transact(async (tx) => {
    const current = await lockOperator(tx, operatorId);
    if (current?.password_hash !== operator.password_hash) {
      throw new Refusal('conflict', { detail: 'The password was changed in the meantime.' });
    }
    const proven = { password_at: platform.now(), password_is_long: lengthMark(asked.new_password) };
    if (!(await markProven(tx, { id: sessionId, proven }))) {
      throw new Refusal('access_token_invalid', { detail: 'This session has ended.' });
    }
    const changed = await updateOperator(tx, current, { password_hash: passwordHash });
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
    return changed;
  });
}
