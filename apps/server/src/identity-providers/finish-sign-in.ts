import { appendEvent } from '../events/append-event.ts';
import { bindIdentity } from '../operators/identities/bind-identity.ts';
import { findIdentity, findProviderSession } from '../operators/identities/store.ts';
import { lockLiveSession, markProven } from '../operators/sessions/store.ts';
import { findOperator } from '../operators/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { applyGrant } from './apply-grant.ts';
import { countsAsFactor } from './claim-rules.ts';
import { logIn } from './log-in-by-provider.ts';
import { readProvider } from './provider.ts';
import {
  type Answer,
  CHANGED,
  DISABLED,
  type FinishDeps,
  type Finished,
  judge,
  type Proof,
  refuse,
  SESSION_ENDED,
} from './sign-in-answer.ts';
import { hashOfState, SIGN_IN_LIFETIME_MS, type SignIn } from './sign-in-cookie.ts';
import { findProvider, useOnce } from './store.ts';

/** The browser is back from the provider: proves the account, once for each state, and does what was begun. */
export async function finishSignIn(deps: FinishDeps, answer: Answer): Promise<Finished> {
  const { platform } = deps;
  const { signIn, query } = answer;
  const nowMs = platform.now();
  const isFirst = await platform.database.transact((tx) =>
    useOnce(tx, {
      hash: hashOfState(signIn.state),
      expiresAt: signIn.began_at + SIGN_IN_LIFETIME_MS + 1,
      nowMs,
    }),
  );
  if (!isFirst)
    return refuse(deps, answer, { reason: 'replayed', text: 'This sign-in was used before: start again.' });
  const row = await findProvider(platform.database.read, signIn.provider_id);
  if (!row || row.enabled === 0) {
    return refuse(deps, answer, {
      reason: 'disabled',
      text: 'This identity provider is not in use any more.',
    });
  }
  const ageSeconds = Math.max(1, Math.ceil((nowMs - signIn.began_at) / 1_000));
  const { state, nonce, verifier, redirect_uri: redirectUri } = signIn;
  const expected = {
    ...{ state, nonce, verifier, redirectUri },
    maxAgeSeconds: signIn.purpose === 'step_up' ? ageSeconds : null,
  };
  const proven = await deps.client.prove(row, expected, query);
  if (!proven.ok) return refuse(deps, answer, proven.fault);
  const account = proven.value;
  const { session } = signIn;
  if (signIn.purpose === 'login') return logIn(deps, answer, { row, account });
  if (session === null) throw new Error('a proof without a session');
  return signIn.purpose === 'step_up'
    ? stepUp(deps, answer, { row, account, session })
    : bind(deps, answer, { row, account, session });
}

/** The account that opened the session has signed in again. What it may do is judged anew. */
async function stepUp(
  deps: FinishDeps,
  answer: Answer,
  { row, account, session }: Proof & { session: NonNullable<SignIn['session']> },
): Promise<Finished> {
  const { platform } = deps;
  const named = { providerId: row.id, issuer: account.issuer, subject: account.subject };
  const judged = judge(row, account);
  const outcome = await platform.database.transact(async (tx) => {
    const opened = await findProviderSession(tx, session.id);
    const isSame =
      opened?.provider_id === row.id &&
      opened.issuer === account.issuer &&
      opened.subject === account.subject;
    if (!isSame) {
      return {
        reason: 'other_account',
        text: 'You signed in with another account than the one of this session.',
      };
    }
    const identity = await findIdentity(tx, named);
    if (!identity || identity.operator_id !== session.operator_id) return CHANGED;
    const { address } = answer.client;
    const asked = { identity, grant: judged.grant, address, endTokens: deps.endTokens };
    const applied = await applyGrant(tx, platform, asked);
    if (applied.kind === 'no_access') return { reason: 'no_access', text: judged.text };
    if (applied.kind === 'disabled') return DISABLED;
    const { factorValues } = readProvider(row);
    const nowMs = platform.now();
    const proven = {
      password_at: nowMs,
      ...(countsAsFactor(account.claims, factorValues) ? { second_factor_at: nowMs } : {}),
    };
    if (!(await markProven(tx, { id: session.id, proven }))) return SESSION_ENDED;
    await recordStepUp(tx, platform, { answer, session, type: 'STEP_UP_SUCCEEDED' });
    return null;
  });
  return outcome === null ? { kind: 'proven' } : refuse(deps, answer, outcome, named);
}

async function bind(
  deps: FinishDeps,
  answer: Answer,
  { row, account, session }: Proof & { session: NonNullable<SignIn['session']> },
): Promise<Finished> {
  const { platform } = deps;
  const named = { providerId: row.id, issuer: account.issuer, subject: account.subject };
  const outcome = await platform.database.transact(async (tx) => {
    if (!(await lockLiveSession(tx, session.id))) return SESSION_ENDED;
    const operator = await findOperator(tx, session.operator_id);
    if (!operator || operator.disabled_at !== null) return DISABLED;
    const taken = await findIdentity(tx, named);
    if (taken) return { reason: 'taken', text: 'This account logs in an operator already.' };
    const by = { username: operator.username, address: answer.client.address };
    await bindIdentity(tx, platform, { operator, account: named, by });
    return null;
  });
  return outcome === null ? { kind: 'bound' } : refuse(deps, answer, outcome, named);
}

async function recordStepUp(
  tx: Tx,
  platform: Platform,
  {
    answer: { client, signIn },
    session,
    type,
  }: { answer: Answer; session: NonNullable<SignIn['session']>; type: 'STEP_UP_SUCCEEDED' },
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'security',
    type,
    severity: 'info',
    component: 'operators',
    actor: session.username,
    content: {
      ...{ operator_id: session.operator_id, username: session.username, address: client.address },
      ...{ method: 'provider', provider: signIn.provider_id },
    },
  });
}
