import { createHash } from 'node:crypto';
import { appendEvent } from '../events/append-event.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import { type OperatorTokens, SESSION_LIFETIME_SECONDS } from './operator-tokens.ts';
import type { Passwords } from './passwords.ts';
import {
  deleteExpiredSessions,
  findOperator,
  findOperatorByName,
  insertSession,
  type OperatorRow,
} from './store.ts';

const CSRF_BYTES = 32;

export interface LogInDeps {
  platform: Platform;
  limiter: Limiter;
  passwords: Passwords;
  tokens: OperatorTokens;
}

export interface LoggedIn {
  operator: OperatorRow;
  token: string;
  csrfToken: string;
  expiresAtMs: number;
}

/**
 * Opens a session, or refuses with one and the same answer for an unknown name, a wrong password and a disabled
 * operator. The limit of the address is taken by the route's guard, the one of the name here: both are counted
 * before the password is looked at, so that no burst of guesses passes them.
 */
export async function logIn(
  { platform, limiter, passwords, tokens }: LogInDeps,
  { username, password, address }: { username: string; password: string; address: string },
): Promise<LoggedIn> {
  enforceLimit(limiter, { limitClass: 'login', key: `user:${username.toLowerCase()}` });
  const operator = await findOperatorByName(platform.database.read, username);
  const matches = await passwords.verify(operator?.password_hash ?? null, password);
  const opened =
    operator && matches && operator.disabled_at === null
      ? await openSession({ platform, tokens }, { operator, address })
      : null;
  if (opened) return opened;
  await recordFailure(platform, { operator, address });
  throw new Refusal('unauthenticated', { detail: 'The username or the password is wrong.' });
}

/** Null when the operator was changed while the password was checked. */
async function openSession(
  { platform, tokens }: Pick<LogInDeps, 'platform' | 'tokens'>,
  { operator, address }: { operator: OperatorRow; address: string },
): Promise<LoggedIn | null> {
  const now = platform.now();
  const expiresAtMs = (Math.floor(now / 1_000) + SESSION_LIFETIME_SECONDS) * 1_000;
  const csrfToken = platform.random(CSRF_BYTES).toString('base64url');
  const sessionId = platform.newId();
  const token = await tokens.issue({ operatorId: operator.id, sessionId });
  const isOpen = await platform.database.transact(async (tx) => {
    const current = await findOperator(tx, operator.id);
    if (current?.password_hash !== operator.password_hash || current.disabled_at !== null) return false;
    await deleteExpiredSessions(tx, now);
    await insertSession(tx, {
      id: sessionId,
      operator_id: operator.id,
      csrf_hash: csrfHash(csrfToken),
      created_at: now,
      expires_at: expiresAtMs,
      address,
      revoked_at: null,
      method: 'password',
      user_agent: '',
      last_used_at: null,
      second_factor_at: null,
    });
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'LOGIN_SUCCEEDED',
      severity: 'info',
      component: 'operators',
      actor: operator.username,
      content: { operator_id: operator.id, username: operator.username, address },
    });
    return true;
  });
  return isOpen ? { operator, token, csrfToken, expiresAtMs } : null;
}

async function recordFailure(
  platform: Platform,
  { operator, address }: { operator: OperatorRow | null; address: string },
): Promise<void> {
  await platform.database.transact((tx) =>
    appendEvent(tx, platform, {
      kind: 'security',
      type: 'LOGIN_FAILED',
      severity: 'warning',
      component: 'operators',
      // An unknown name is not written down: it may be a password that was typed into the wrong field.
      content: { operator_id: operator?.id ?? null, username: operator?.username ?? null, address },
    }),
  );
}

export function csrfHash(csrfToken: string): string {
  return createHash('sha256').update(csrfToken).digest('hex');
}
