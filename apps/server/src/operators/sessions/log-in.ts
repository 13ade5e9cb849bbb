import type { FactorMethod } from '@tidegate/protocol/factors-api';
import type { LoginMethod } from '@tidegate/protocol/login-methods';
import { appendEvent } from '../../events/append-event.ts';
import { appendOutsiderEvent } from '../../outsiders/charge.ts';
import type { Tx } from '../../platform/db/engine.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Platform } from '../../platform/platform.ts';
import { keyOfAddress } from '../../rate-limits/keys.ts';
import { type CodeDeps, type GivenCode, proveCode } from '../codes/prove-code.ts';
import { countFactors } from '../codes/store.ts';
import { type FactorPolicy, readFactorDue } from '../demand-factor.ts';
import { methodsOf, wrongCode } from '../factor-refusals.ts';
import { notify } from '../notices/notices.ts';
import { openPasskeyChallenge } from '../passkeys/challenges.ts';
import type { PasskeySite } from '../passkeys/site.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { findOperatorByName, type OperatorRow } from '../store.ts';
import type { KnownDevices } from './known-devices.ts';
import type { GuessedBy, LoginThrottle } from './login-throttle.ts';
import { type Client, type LoggedIn, prepareSession, storeSession } from './open-session.ts';
import type { OperatorTokens } from './operator-tokens.ts';

export interface LogInDeps extends CodeDeps {
  throttle: LoginThrottle;
  devices: KnownDevices;
  factorPolicy: FactorPolicy;
  passwords: Passwords;
  tokens: OperatorTokens;
}

export interface AskedLogIn {
  username: string;
  password: string;
  /** The second factor, if one was sent. */
  given: GivenCode | null;
  client: Client;
  /** May contain a known device's cookie. */
  cookieHeader: string | undefined;
  /** Where passkeys work; null when the address of this request allows none. */
  site: PasskeySite | null;
}

/**
 * Opens a session, or refuses with the same answer for an unknown name, a wrong password and a disabled operator. The
 * route's guard enforces the limit of the address; guesses at the name are throttled here, before the password is
 * checked. With an enrolled second factor, the password alone opens nothing.
 */
export async function logIn(deps: LogInDeps, asked: AskedLogIn): Promise<LoggedIn> {
  const { platform, passwords } = deps;
  const operator = await findOperatorByName(platform.database.read, asked.username);
  const at = { name: asked.username.toLowerCase(), by: guessedBy(deps, operator, asked) };
  const isRight = await deps.throttle.guess(at, {
    async verify() {
      const matches = await passwords.verify(operator?.password_hash ?? null, asked.password);
      return matches && operator?.disabled_at === null;
    },
    onTurns: () => recordSlowed(platform, operator, asked.client),
  });
  if (!operator || !isRight) throw await refused(deps, { operator, asked });
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
    const due = { operator, policy: deps.factorPolicy, nowMs: platform.now() };
    const factorDueAt = methods.length > 0 ? null : await readFactorDue(tx, due);
    const isStored = await storeSession(tx, platform, {
      ...{ session, method, client },
      passwordAt: platform.now(),
      password: asked.password,
      factorDueAt,
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

/** A known device of this operator counts by itself, everybody else by address. */
function guessedBy(
  { devices }: LogInDeps,
  operator: OperatorRow | null,
  { client, cookieHeader }: AskedLogIn,
): GuessedBy {
  const device = operator && devices.find(operator, cookieHeader);
  return device === null
    ? { kind: 'address', key: keyOfAddress(client.address) }
    : { kind: 'device', key: device };
}

/** Does the same for an unknown name where possible; there is nobody to notify. */
async function recordSlowed(
  platform: Platform,
  operator: OperatorRow | null,
  { address }: Client,
): Promise<void> {
  await platform.database.transact(async (tx) => {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'LOGINS_SLOWED',
      severity: 'warning',
      component: 'operators',
      content: { operator_id: operator?.id ?? null, username: operator?.username ?? null, address },
    });
    if (operator === null) return;
    const by = { username: 'somebody', address };
    await notify(tx, platform, { operatorId: operator.id, kind: 'logins_slowed', by });
  });
}

/** After the right password: lists the other factors, and opens a challenge if a passkey is one. Never a session. */
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
    return openPasskeyChallenge(tx, platform, { ...of, site });
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
    stage: 'password' | 'second_factor' | 'passkey' | 'provider';
    /** What else is known of the attempt. */
    content?: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  const { operator, client, stage, content } = failed;
  await appendOutsiderEvent(tx, platform, {
    kind: 'failed_logins',
    subject: { key: keyOfAddress(client.address) },
    event: {
      kind: 'security',
      type: 'LOGIN_FAILED',
      severity: 'warning',
      component: 'operators',
      // An unknown name is not recorded: it may be a password typed into the wrong field.
      content: {
        operator_id: operator?.id ?? null,
        username: operator?.username ?? null,
        address: client.address,
        stage,
        ...content,
      },
    },
  });
}
