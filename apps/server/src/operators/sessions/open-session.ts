import { createHash } from 'node:crypto';
import type { LoginMethod } from '@tidegate/protocol/login-methods';
import { USER_AGENT_MAX } from '@tidegate/protocol/sessions-api';
import type { FastifyRequest } from 'fastify';
import { appendEvent } from '../../events/append-event.ts';
import type { Tx } from '../../platform/db/engine.ts';
import type { Platform } from '../../platform/platform.ts';
import { isLongEnoughAlone } from '../passwords/password-rules.ts';
import { deleteExpiredSessions, findOperator, insertSession, type OperatorRow } from '../store.ts';
import { type OperatorTokens, SESSION_LIFETIME_SECONDS } from './operator-tokens.ts';

const CSRF_BYTES = 32;

/** The client, as the connection and its headers describe it. */
export interface Client {
  address: string;
  userAgent: string;
}

export interface LoggedIn {
  operator: OperatorRow;
  sessionId: string;
  token: string;
  csrfToken: string;
  expiresAtMs: number;
}

export function clientOf(request: Pick<FastifyRequest, 'ip' | 'headers'>): Client {
  return { address: request.ip, userAgent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_MAX) };
}

/** Each login makes a new session, whatever the request carried; it exists only after `storeSession`. */
export async function prepareSession(
  { platform, tokens }: { platform: Platform; tokens: OperatorTokens },
  operator: OperatorRow,
): Promise<LoggedIn> {
  return { operator, ...(await prepareToken({ platform, tokens }, operator.id)) };
}

/** The same for an operator who is only made when the session is stored. */
export async function prepareToken(
  { platform, tokens }: { platform: Platform; tokens: OperatorTokens },
  operatorId: string,
): Promise<Omit<LoggedIn, 'operator'>> {
  const sessionId = platform.newId();
  return {
    sessionId,
    token: await tokens.issue({ operatorId, sessionId }),
    csrfToken: platform.random(CSRF_BYTES).toString('base64url'),
    expiresAtMs: (Math.floor(platform.now() / 1_000) + SESSION_LIFETIME_SECONDS) * 1_000,
  };
}

/**
 * False when the operator was changed while the proofs were checked: then there is no session. `passwordAt`: when the
 * password was proven, or null.
 */
export async function storeSession(
  tx: Tx,
  platform: Platform,
  {
    session,
    method,
    client,
    passwordAt,
    password = null,
    factorDueAt = null,
    provider = null,
    secondFactorAt = method === 'password' ? null : platform.now(),
  }: {
    session: LoggedIn;
    method: LoginMethod;
    client: Client;
    passwordAt: number | null;
    /** The password itself, if available. */
    password?: string | null;
    factorDueAt?: number | null;
    /** The identity provider that logged the operator in. */
    provider?: string | null;
    /** When a second factor was proven; now, unless the method is the password alone. */
    secondFactorAt?: number | null;
  },
): Promise<boolean> {
  const { operator } = session;
  const now = platform.now();
  const current = await findOperator(tx, operator.id);
  if (current?.password_hash !== operator.password_hash || current.disabled_at !== null) return false;
  await deleteExpiredSessions(tx, now);
  await insertSession(tx, {
    id: session.sessionId,
    operator_id: operator.id,
    csrf_hash: csrfHash(session.csrfToken),
    created_at: now,
    expires_at: session.expiresAtMs,
    address: client.address,
    revoked_at: null,
    method,
    user_agent: client.userAgent,
    last_used_at: null,
    second_factor_at: secondFactorAt,
    password_at: passwordAt,
    factor_due_at: factorDueAt,
    password_is_long: password === null ? null : lengthMark(password),
  });
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'LOGIN_SUCCEEDED',
    severity: 'info',
    component: 'operators',
    actor: operator.username,
    content: {
      ...{ operator_id: operator.id, username: operator.username, address: client.address, method },
      ...(provider === null ? {} : { provider }),
    },
  });
  return true;
}

/** Whether the session's password is long enough alone, as stored. */
export function lengthMark(password: string): 0 | 1 {
  return isLongEnoughAlone(password) ? 1 : 0;
}

export function csrfHash(csrfToken: string): string {
  return createHash('sha256').update(csrfToken).digest('hex');
}
