import type { Grant } from '@tidegate/protocol/identity-providers-api';
import type { LoginMethod } from '@tidegate/protocol/login-methods';
import { appendEvent } from '../events/append-event.ts';
import { countFactors } from '../operators/codes/store.ts';
import { readFactorDue } from '../operators/demand-factor.ts';
import { methodsOf } from '../operators/factor-refusals.ts';
import { writeGroups } from '../operators/group-list.ts';
import { bindIdentity } from '../operators/identities/bind-identity.ts';
import {
  type Account,
  findIdentity,
  insertProviderSession,
  updateIdentity,
} from '../operators/identities/store.ts';
import { NO_PASSWORD } from '../operators/passwords/no-password.ts';
import { type Client, prepareToken, storeSession } from '../operators/sessions/open-session.ts';
import { insertOperator, type OperatorRow } from '../operators/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { sealSecret } from '../platform/seal-secret.ts';
import { actorOf, applyGrant } from './apply-grant.ts';
import { countsAsFactor, numbered, usernameIn } from './claim-rules.ts';
import { readProvider } from './provider.ts';
import type { ProvenAccount } from './provider-client.ts';
import {
  type Answer,
  CHANGED,
  DISABLED,
  type FinishDeps,
  type Finished,
  judge,
  type Proof,
  refuse,
  type Why,
} from './sign-in-answer.ts';
import { lockProvider } from './store.ts';

/** Names tried for a new operator before the sign-in is refused. */
const NAMES_TRIED_MAX = 20;
/** Longest ID token that is kept for the logout at the provider, in characters. */
const KEPT_TOKEN_MAX_CHARS = 8_192;
const SID_MAX_CHARS = 255;

/** Opens a session for the operator of the account, with what its groups allow now. */
export async function logIn(deps: FinishDeps, answer: Answer, { row, account }: Proof): Promise<Finished> {
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

function unbound({ issuer, subject }: Account): Why {
  return {
    reason: 'unbound',
    text: `No operator is bound to your account, and this provider creates none. Ask an admin to bind the subject ${subject} of ${issuer}.`,
  };
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
