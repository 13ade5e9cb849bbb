import type { PasskeyAnswer, PasskeyOptions } from '@tidegate/protocol/factors-api';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Platform } from '../../platform/platform.ts';
import { passkeyFault } from '../factor-refusals.ts';
import { openPasskeyChallenge } from '../passkeys/challenges.ts';
import { provePasskey, useProof } from '../passkeys/prove-passkey.ts';
import type { PasskeySite } from '../passkeys/site.ts';
import { hasPassword } from '../passwords/no-password.ts';
import { findOperator } from '../store.ts';
import { recordLogInFailure } from './log-in.ts';
import { type Client, type LoggedIn, prepareSession, storeSession } from './open-session.ts';
import type { OperatorTokens } from './operator-tokens.ts';

/** A challenge for any passkey of this site: no name is asked for, and none is revealed. */
export async function beginPasskeyLogIn(platform: Platform, site: PasskeySite): Promise<PasskeyOptions> {
  return platform.database.transact((tx) =>
    openPasskeyChallenge(tx, platform, { purpose: 'login', operator_id: null, session_id: null, site }),
  );
}

/**
 * Opens a session for a passkey that verified its user: alone, or after the password when the challenge came with that
 * answer. An unknown passkey, a wrong signature and a disabled operator get the same answer.
 */
export async function logInByPasskey(
  deps: { platform: Platform; tokens: OperatorTokens },
  { answer, client, site }: { answer: PasskeyAnswer; client: Client; site: PasskeySite },
): Promise<LoggedIn> {
  const { platform } = deps;
  const outcome = await provePasskey(platform, {
    ...{ answer, site, sessionId: null },
    purposes: ['login', 'second_factor'],
  });
  const operatorId = outcome.ok ? outcome.passkey.operator_id : outcome.operatorId;
  const found = operatorId === null ? null : await findOperator(platform.database.read, operatorId);
  // Without a password the provider decides at each sign-in: the passkey is the second step.
  const operator = found && hasPassword(found) ? found : null;
  const session = operator && (await prepareSession(deps, operator));
  // The password was proven when the challenge was made.
  const passwordAt = outcome.challenge?.purpose === 'second_factor' ? outcome.challenge.created_at : null;
  const method = passwordAt === null ? 'passkey' : 'password+passkey';
  const fault = await platform.database.transact(async (tx) => {
    const unproven = await useProof(tx, platform, outcome);
    const isOpen =
      !unproven && session && (await storeSession(tx, platform, { session, method, client, passwordAt }));
    if (isOpen) return null;
    await recordLogInFailure(tx, platform, { operator, client, stage: 'passkey' });
    return unproven ?? 'refused';
  });
  if (session && fault === null) return session;
  throw new Refusal('unauthenticated', { detail: passkeyFault(fault ?? 'refused') });
}
