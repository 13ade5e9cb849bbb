import {
  LoginAnswer,
  LoginRequest,
  OperatorIdentity,
  SessionAnswer,
  SetupRequest,
} from '@tidegate/protocol/operators-api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { rfc3339, rfc3339Seconds } from '../platform/clock.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { PASSWORD_LIFETIME_MS, STEP_UP_LIFETIME_MS } from '../platform/http/step-up.ts';
import { addressKey } from '../rate-limits/keys.ts';
import type { GivenCode } from './codes/prove-code.ts';
import { countFactors } from './codes/store.ts';
import { setUpFirstOperator } from './first-operator.ts';
import { readGroups } from './group-list.ts';
import { needsSecondStep } from './identities/demand-second-step.ts';
import { countUnreadNotices } from './notices/store.ts';
import { isSameOrigin } from './operator-guard.ts';
import { identityView } from './operator-view.ts';
import { changesOwn, readsOwn } from './own-account.ts';
import { type PasskeySite, passkeySiteOf } from './passkeys/site.ts';
import type { SessionCookies } from './sessions/cookies.ts';
import { type LogInDeps, logIn } from './sessions/log-in.ts';
import { clientOf, type LoggedIn } from './sessions/open-session.ts';
import { findLiveSession, type LiveSession, type OperatorRow, revokeSession } from './store.ts';

const tags = ['authentication'];

export type AuthDeps = LogInDeps & {
  cookies: SessionCookies;
  baseUrl: string | null;
  /** How long an unused session lives. */
  sessionIdleMs: number;
};

/** Login, logout, the current session, and setup of the first operator by the one-time link. */
export function mountAuth(routes: Routes, deps: AuthDeps): void {
  const { platform, passwords, cookies } = deps;
  routes.public({
    method: 'POST',
    url: '/api/v1/auth/login',
    access: { limit: 'login' },
    schema: {
      tags,
      summary: 'Log in',
      body: LoginRequest,
      response: { 200: LoginAnswer },
      refuses: ['forbidden', 'second_factor_required', 'unauthenticated', 'unavailable'],
    },
    handler: async ({ body, request, reply }) => {
      demandSameOrigin(request);
      const { username, password } = body;
      const given = givenCode(body);
      const site = fitSite(request, deps.baseUrl);
      const { cookie: cookieHeader } = request.headers;
      const asked = { username, password, given, client: clientOf(request), cookieHeader, site };
      return answerLogIn(deps, reply, await logIn(deps, asked));
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/auth/logout',
    access: changesOwn,
    schema: { tags, summary: 'Log out and revoke the token' },
    handler: async ({ operator: { sessionId }, reply }) => {
      await platform.database.transact((tx) => revokeSession(tx, sessionId, platform.now()));
      reply.header('set-cookie', cookies.close());
    },
  });
  routes.operator({
    method: 'GET',
    url: '/api/v1/auth/session',
    access: { ...readsOwn, scope: 'read' },
    schema: { tags, summary: 'Whose session or API token this is', response: { 200: SessionAnswer } },
    handler: async ({ operator: caller }) => {
      const { operatorId, sessionId, username, role, groups, token } = caller;
      const operator = identityView({ id: operatorId, username, role, groups });
      if (token) {
        const factors = { totp: false, passkeys: 0, recovery_codes_left: 0 };
        const expires_at = rfc3339Seconds(token.expiresAtMs);
        return {
          operator,
          expires_at,
          factors,
          unread_notices: 0,
          second_factor_due_at: null,
          stepped_up_until: null,
          method: null,
          needs_factor: false,
        };
      }
      const nowMs = platform.now();
      const session = await findLiveSession(platform.database.read, {
        ...{ operatorId, sessionId, nowMs },
        idleMs: deps.sessionIdleMs,
      });
      if (!session) throw new Refusal('access_token_invalid', { detail: 'Log in to use this.' });
      const { totp, passkeys, recoveryCodesLeft } = await countFactors(platform.database.read, operatorId);
      return {
        operator,
        expires_at: rfc3339Seconds(session.expires_at),
        factors: { totp, passkeys, recovery_codes_left: recoveryCodesLeft },
        unread_notices: await countUnreadNotices(platform.database.read, operatorId),
        second_factor_due_at: session.factor_due_at === null ? null : rfc3339(session.factor_due_at),
        stepped_up_until: steppedUpUntil(session, nowMs),
        method: session.method,
        needs_factor: needsSecondStep(session),
      };
    },
  });
  routes.public({
    method: 'POST',
    url: '/api/v1/auth/setup',
    access: { limit: 'login' },
    schema: {
      tags,
      summary: 'Create the first operator with the one-time secret; 404 once an operator exists',
      body: SetupRequest,
      response: { 201: OperatorIdentity },
      refuses: ['not_found', 'unavailable'],
    },
    handler: async ({ body, request }) => {
      const operator = await setUpFirstOperator(platform, passwords, body);
      platform.log.info('first operator created', { address: addressKey(request) });
      return identityOfRow(operator);
    },
  });
}

/** The answer to every kind of login; sets its cookies. */
export function answerLogIn(
  { cookies, devices }: Pick<AuthDeps, 'cookies' | 'devices'>,
  reply: FastifyReply,
  { operator, token, csrfToken, expiresAtMs }: LoggedIn,
): LoginAnswer {
  const device = devices.remember(operator, reply.request.headers.cookie);
  reply.header('set-cookie', [...cookies.open({ token, csrfToken }), device]);
  return { token, expires_at: rfc3339Seconds(expiresAtMs), operator: identityOfRow(operator) };
}

/** Prevents another site from logging a browser in as somebody else. */
export function demandSameOrigin(request: FastifyRequest): void {
  if (isSameOrigin(request)) return;
  throw new Refusal('forbidden', { detail: 'The request comes from another site.' });
}

/** A TOTP code takes precedence, so that no recovery code is spent. */
function givenCode({ totp, recovery_code: recoveryCode }: LoginRequest): GivenCode | null {
  if (totp !== undefined) return { method: 'totp', code: totp };
  return recoveryCode === undefined ? null : { method: 'recovery_code', code: recoveryCode };
}

/** Null where passkeys do not work; a login by password still does. */
function fitSite(request: FastifyRequest, baseUrl: string | null): PasskeySite | null {
  try {
    return passkeySiteOf(request, baseUrl);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function steppedUpUntil(session: LiveSession, nowMs: number): string | null {
  const [provenAt, lifetimeMs] =
    session.factors.length > 0 || session.method === 'provider+factor'
      ? [session.second_factor_at, STEP_UP_LIFETIME_MS]
      : [session.password_at, PASSWORD_LIFETIME_MS];
  return provenAt === null || nowMs - provenAt > lifetimeMs ? null : rfc3339(provenAt + lifetimeMs);
}

function identityOfRow(row: OperatorRow): OperatorIdentity {
  return identityView({ ...row, groups: readGroups(row.groups) });
}
