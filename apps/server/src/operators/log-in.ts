import type { FactorMethod } from '@tidegate/protocol/factors-api';
import type { LoginMethod } from '@tidegate/protocol/sessions-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import { countFactors } from './codes-store.ts';
import { methodsOf, wrongCode } from './factor-refusals.ts';
import { type Client, type LoggedIn, prepareSession, storeSession } from './open-session.ts';
import type { OperatorTokens } from './operator-tokens.ts';
import { askForPasskey } from './passkey-challenges.ts';
import type { PasskeySite } from './passkey-site.ts';
import type { Passwords } from './passwords.ts';
import { type CodeDeps, type GivenCode, proveCode } from './prove-code.ts';
import { findOperatorByName, type OperatorRow } from './store.ts';

export interface LogInDeps extends CodeDeps {
  limiter: Limiter;
  passwords: Passwords;
  tokens: OperatorTokens;
}

export interface AskedLogIn {
  username: string;
  password: string;
  /** The second factor, where it came along. */
  given: GivenCode | null;
  client: Client;
  /** Where passkeys work; null where the address of this request is none for them. */
  site: PasskeySite | null;
}

/**
 * Opens a session, or refuses with one and the same answer for an unknown name, a wrong password and a disabled
 * operator. The limit of the address is taken by the route's guard, the one of the name here: both are counted
 * before the password is looked at, so that no burst of guesses passes them. Where a second factor is enrolled, the
 * password alone opens nothing.
 */
export async function logIn(deps: LogInDeps, asked: AskedLogIn): Promise<LoggedIn> {
  const { platform, limiter, passwords } = deps;
  enforceLimit(limiter, { limitClass: 'login', key: `user:${asked.username.toLowerCase()}` });
  const operator = await findOperatorByName(platform.database.read, asked.username);
  const matches = await passwords.verify(operator?.password_hash ?? null, asked.password);
  if (!operator || !matches || operator.disabled_at !== null) throw await refused(deps, { operator, asked });
  const methods = methodsOf(await countFactors(platform.database.read, operator.id));
  if (methods.length > 0 && !asked.given) throw await askForFactor(deps, { operator, methods, asked });
  const session = await prepareSession(deps, operator);
  const { client, given } = asked;
  const isProofNeeded = methods.length > 0 && given !== null;
  const method: LoginMethod = isProofNeeded ? `password+${given.method}` : 'password';
  const outcome = await platform.database.transact(async (tx) => {
    const proof = isProofNeeded
      ? await proveCode(tx, deps, { operator, given, address: client.address })
      : ({ ok: true } as const);
    if (!proof.ok) {
      await recordLogInFailure(tx, platform, { operator, client, stage: 'second_factor' });
      return { kind: 'wrong', proof } as const;
    }
    const isStored = await storeSession(tx, platform, {
      ...{ session, method, client },
      passwordAt: platform.now(),
    });
    return { kind: isStored ? 'opened' : 'changed' } as const;
  });
  switch (outcome.kind) {
    case 'opened':
      return session;
    case 'changed':
      throw await refused(deps, { operator, asked });
    case 'wrong':
      throw wrongCode('second_factor_required', { outcome: outcome.proof, methods });
  }
}

/** The password was right: says what else there is, and opens a challenge where a passkey is among it. Never a session. */
async function askForFactor(
  { platform }: LogInDeps,
  { operator, methods, asked }: { operator: OperatorRow; methods: FactorMethod[]; asked: AskedLogIn },
): Promise<Refusal> {
  const { site, client } = asked;
  const passkey = await platform.database.transact(async (tx) => {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'SECOND_FACTOR_ASKED',
      severity: 'info',
      component: 'operators',
      actor: operator.username,
      content: { operator_id: operator.id, username: operator.username, address: client.address },
    });
    if (site === null || !methods.includes('passkey')) return null;
    const of = { purpose: 'second_factor', operator_id: operator.id, session_id: null } as const;
    return askForPasskey(tx, platform, { ...of, site });
  });
  return new Refusal('second_factor_required', {
    detail: 'The password is right; a second factor is needed as well.',
    extra: { methods, ...(passkey === null ? {} : { passkey }) },
  });
}

async function refused(
  { platform }: LogInDeps,
  { operator, asked }: { operator: OperatorRow | null; asked: AskedLogIn },
): Promise<Refusal> {
  await platform.database.transact((tx) =>
    recordLogInFailure(tx, platform, { operator, client: asked.client, stage: 'password' }),
  );
  return new Refusal('unauthenticated', { detail: 'The username or the password is wrong.' });
}

export async function recordLogInFailure(
  tx: Tx,
  platform: Platform,
  failed: {
    operator: Pick<OperatorRow, 'id' | 'username'> | null;
    client: Client;
    stage: 'password' | 'second_factor' | 'passkey';
  },
): Promise<void> {
  const { operator, client, stage } = failed;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'LOGIN_FAILED',
    severity: 'warning',
    component: 'operators',
    // An unknown name is not written down: it may be a password that was typed into the wrong field.
    content: {
      operator_id: operator?.id ?? null,
      username: operator?.username ?? null,
      address: client.address,
      stage,
    },
  });
}
