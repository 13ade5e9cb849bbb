import type { Grant } from '@tidegate/protocol/identity-providers-api';
import type { LoginMethod } from '@tidegate/protocol/login-methods';
import { appendEvent } from '../events/append-event.ts';
import { countFactors } from '../operators/codes/store.ts';
import { type FactorPolicy, readFactorDue } from '../operators/demand-factor.ts';
import type { EndTokens } from '../operators/end-access.ts';
import { methodsOf } from '../operators/factor-refusals.ts';
import { writeGroups } from '../operators/group-list.ts';
import { bindIdentity } from '../operators/identities/bind-identity.ts';
import {
  type Account,
  findIdentity,
  findProviderSession,
  insertProviderSession,
  updateIdentity,
} from '../operators/identities/store.ts';
import { NO_PASSWORD } from '../operators/passwords/no-password.ts';
import { recordLogInFailure } from '../operators/sessions/log-in.ts';
import { type Client, prepareToken, storeSession } from '../operators/sessions/open-session.ts';
import type { OperatorTokens } from '../operators/sessions/operator-tokens.ts';
import { lockLiveSession, markProven } from '../operators/sessions/store.ts';
import { findOperator, insertOperator, type OperatorRow } from '../operators/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { sealSecret } from '../platform/seal-secret.ts';
import { actorOf, applyGrant } from './apply-grant.ts';
import { countsAsFactor, groupsIn, numbered, usernameIn } from './claim-rules.ts';
import { grantOf } from './mapping-rules.ts';
import { readProvider } from './provider.ts';
import type { ProvenAccount, ProviderClient } from './provider-client.ts';
import { hashOfState, SIGN_IN_LIFETIME_MS, type SignIn } from './sign-in-cookie.ts';
import { findProvider, lockProvider, type ProviderRow, useOnce } from './store.ts';

/** Names tried for a new operator before the sign-in is refused. */
const NAMES_TRIED_MAX = 20;
/** Longest ID token that is kept for the logout at the provider, in characters. */
const KEPT_TOKEN_MAX_CHARS = 8_192;
const SID_MAX_CHARS = 255;

export interface FinishDeps {
  platform: Platform;
  client: ProviderClient;
  tokens: OperatorTokens;
  factorPolicy: FactorPolicy;
  endTokens: EndTokens;
  /** Seals what the database keeps of providers. */
  key: Buffer;
}

export type Finished =
  | {
      kind: 'logged_in';
      session: { token: string; csrfToken: string };
      /** A second factor of the operator must be proven before the session opens anything. */
      needsFactor: boolean;
    }
  | { kind: 'proven' }
  | { kind: 'bound' }
  /** In words for the person at the browser. */
  | { kind: 'refused'; text: string };

interface Answer {
  signIn: SignIn;
  /** The query of the callback, as it came. */
  query: string;
  client: Client;
}

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

interface Proof {
  row: ProviderRow;
  account: ProvenAccount;
}

async function logIn(deps: FinishDeps, answer: Answer, { row, account }: Proof): Promise<Finished> {
  const { platform } = deps;
  const provider = readProvider(row);
  const named = { providerId: row.id, issuer: account.issuer, subject: account.subject };
  const judged = judge(row, account);
  const known = await findIdentity(platform.database.read, named);
  const operatorId = known?.operator_id ?? platform.newId();
  const prepared = await prepareToken(deps, operatorId);
  const method: LoginMethod = countsAsFactor(account.claims, provider.factorValues)
    ? 'provider+factor'
    : 'provider';

  const signedInAt = signInTime(account, { sinceMs: answer.signIn.began_at, nowMs: platform.now() });

  const outcome = await platform.database.transact(async (tx) => {
    // A change of the mapping ends the sessions before it; this one would escape that.
    const current = await lockProvider(tx, row.id);
    if (current?.changed_at !== row.changed_at || current.enabled === 0) return CHANGED;
    const identity = await findIdentity(tx, named);
    if ((identity?.operator_id ?? operatorId) !== operatorId) return CHANGED;
    let operator: OperatorRow;
    if (identity) {
      const { client } = answer;
      const asked = { identity, grant: judged.grant, address: client.address, endTokens: deps.endTokens };
      const applied = await applyGrant(tx, platform, asked);
      if (applied.kind === 'no_access') return { reason: 'no_access', text: judged.text };
      if (applied.kind === 'disabled') return DISABLED;
      operator = applied.operator;
    } else {
      if (judged.grant === null) return { reason: 'no_access', text: judged.text };
      if (!provider.createsOperators) return unbound(named);
      const made = { id: operatorId, grant: judged.grant, named, claims: account.claims };
      operator = await createOperator(tx, platform, {
        ...made,
        claim: provider.usernameClaim,
        by: answer.client,
      });
    }
    const methods = methodsOf(await countFactors(tx, operator.id));
    const due = { operator, policy: deps.factorPolicy, nowMs: platform.now() };
    const hasFactor = methods.length > 0 || method === 'provider+factor';
    const isStored = await storeSession(tx, platform, {
      session: { operator, ...prepared },
      ...{ method, client: answer.client, provider: row.id, passwordAt: signedInAt },
      secondFactorAt: method === 'provider+factor' ? signedInAt : null,
      factorDueAt: hasFactor ? null : await readFactorDue(tx, due),
    });
    if (!isStored) return DISABLED;
    await rememberSession(tx, deps, { sessionId: prepared.sessionId, operator, named, account });
    const used = identity ?? (await findIdentity(tx, named));
    if (used) await updateIdentity(tx, used, { last_used_at: platform.now(), lost_at: null });
    return { needsFactor: method === 'provider' && methods.length > 0 };
  });
  if ('text' in outcome) return refuse(deps, answer, outcome, named);
  const { token, csrfToken } = prepared;
  return { kind: 'logged_in', session: { token, csrfToken }, needsFactor: outcome.needsFactor };
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

/** When the person signed in at the provider, if that was for this login; null for an older session there. */
function signInTime(
  { claims }: ProvenAccount,
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): number | null {
  const { auth_time: seconds } = claims;
  // Whole seconds.
  return typeof seconds === 'number' && (seconds + 1) * 1_000 > sinceMs
    ? Math.min(seconds * 1_000, nowMs)
    : null;
}

interface Why {
  reason: string;
  text: string;
}

const CHANGED: Why = { reason: 'changed', text: 'Something was changed while you signed in: start again.' };
const DISABLED: Why = { reason: 'disabled', text: 'Your operator is disabled here. An admin can enable it.' };
const SESSION_ENDED: Why = { reason: 'session_ended', text: 'The session has ended: log in again.' };

function unbound({ issuer, subject }: Account): Why {
  return {
    reason: 'unbound',
    text: `No operator is bound to your account, and this provider creates none. Ask an admin to bind the subject ${subject} of ${issuer}.`,
  };
}

/** What the account may do, and the words for having nothing. */
function judge(row: ProviderRow, { claims }: ProvenAccount): { grant: Grant | null; text: string } {
  const provider = readProvider(row);
  const found = groupsIn(claims, provider.groupClaim);
  const groups = found.kind === 'groups' ? found.groups : [];
  return { grant: grantOf(provider, groups), text: noAccess(provider.groupClaim, found) };
}

function noAccess(claim: string, found: ReturnType<typeof groupsIn>): string {
  switch (found.kind) {
    case 'missing':
      return `You have no access: the provider did not send the claim ${claim}, which lists your groups. Set it up for this application at the provider.`;
    case 'elsewhere':
      return `You have no access: you are in too many groups for the claim ${claim}. Have the provider send only the groups that are assigned to this application.`;
    case 'groups':
      return found.groups.length === 0
        ? 'You have no access: you are in no group at the provider.'
        : 'You have no access: none of your groups at the provider has a role here.';
  }
}

async function createOperator(
  tx: Tx,
  platform: Platform,
  made: {
    id: string;
    grant: Grant;
    named: Account;
    claims: ProvenAccount['claims'];
    claim: string;
    by: Client;
  },
): Promise<OperatorRow> {
  const { id, grant, named, claims, claim, by } = made;
  const username = usernameIn(claims, claim);
  for (let n = 1; n <= NAMES_TRIED_MAX; n++) {
    const operator = await insertOperator(tx, {
      ...{ id, username: numbered(username, n), password_hash: NO_PASSWORD },
      ...{
        role: grant.role,
        groups: writeGroups(grant.groups),
        created_at: platform.now(),
        disabled_at: null,
      },
    });
    if (!operator) continue;
    const actor = actorOf(named.providerId);
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'OPERATOR_CHANGED',
      severity: 'warning',
      component: 'operators',
      actor,
      content: {
        ...{ change: 'created', operator_id: id, username: operator.username },
        ...{ role: grant.role, groups: grant.groups, provider: named.providerId },
      },
    });
    await bindIdentity(tx, platform, {
      operator,
      account: named,
      by: { username: actor, address: by.address },
    });
    return operator;
  }
  throw new Refusal('conflict', {
    detail: `The names ${username} to ${numbered(username, NAMES_TRIED_MAX)} are taken.`,
  });
}

async function rememberSession(
  tx: Tx,
  { platform, key }: FinishDeps,
  of: { sessionId: string; operator: OperatorRow; named: Account; account: ProvenAccount },
): Promise<void> {
  const { sessionId, named, account } = of;
  const { sid } = account.claims;
  await insertProviderSession(tx, {
    session_id: sessionId,
    operator_id: of.operator.id,
    provider_id: named.providerId,
    ...{ issuer: named.issuer, subject: named.subject },
    provider_sid: typeof sid === 'string' && sid.length <= SID_MAX_CHARS ? sid : null,
    sealed_id_token:
      account.idToken.length > KEPT_TOKEN_MAX_CHARS
        ? null
        : sealSecret(Buffer.from(account.idToken), { key, owner: sessionId, random: platform.random }),
  });
}

/** Records a failed sign-in with its reason, and the account if it was proven: an admin may bind it. */
async function refuse(
  { platform }: FinishDeps,
  { signIn, client }: Answer,
  { reason, text }: Why,
  account: Account | null = null,
): Promise<Finished> {
  platform.log.info('a sign-in by an identity provider failed', { provider: signIn.provider_id, reason });
  await platform.database.transact((tx) =>
    recordLogInFailure(tx, platform, {
      operator: signIn.session && { id: signIn.session.operator_id, username: signIn.session.username },
      ...{ client, stage: 'provider' },
      content: {
        ...{ provider: signIn.provider_id, purpose: signIn.purpose, reason },
        ...(account ? { issuer: account.issuer, subject: account.subject } : {}),
      },
    }),
  );
  return { kind: 'refused', text };
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
