import { timingSafeEqual } from 'node:crypto';
import { BACKGROUND_HEADER } from '@tidegate/protocol/headers';
import type { FastifyRequest } from 'fastify';
import { DatabaseFault } from '../platform/db/engine.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import type { Guards } from '../platform/http/admit.ts';
import { roleIncludes } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import {
  demandFreshCredentials,
  demandFreshFactor,
  PASSWORD_LIFETIME_MS,
  type SecondFactor,
  STEP_UP_LIFETIME_MS,
} from '../platform/http/step-up.ts';
import { demandScope } from '../platform/http/token-scopes.ts';
import type { Platform } from '../platform/platform.ts';
import { addressKey, callerKey } from '../rate-limits/keys.ts';
import { enforceForAll, enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import { demandEnrolled } from './demand-factor.ts';
import { demandReach } from './demand-reach.ts';
import { readGroups } from './group-list.ts';
import { demandSecondStep } from './identities/demand-second-step.ts';
import { CSRF_HEADER, type SessionCookies } from './sessions/cookies.ts';
import { csrfHash } from './sessions/open-session.ts';
import type { OperatorTokens } from './sessions/operator-tokens.ts';
import { touchSession } from './sessions/store.ts';
import { findLiveSession, type LiveSession, SESSION_USE_STEP_MS } from './store.ts';

/** Every API token begins with this; no session token does. */
const API_TOKEN_PREFIX = 'tg_';

type Unknown = { ok: false; code: 'unauthenticated' | 'access_token_invalid' | 'access_token_expired' };
export type FoundToken = { ok: true; caller: Omit<OperatorCaller, 'address'> } | Unknown;

/** Finds the caller of an API token. An interface, because the slice of API tokens comes after this one. */
export interface TokenCallers {
  find(bearer: string): Promise<FoundToken>;
}

export interface OperatorGuardDeps {
  platform: Platform;
  tokenCallers: TokenCallers;
  limiter: Limiter;
  tokens: OperatorTokens;
  cookies: SessionCookies;
  /** How long an unused session lives. */
  sessionIdleMs: number;
}

export interface OperatorGuard {
  guard: Guards['operator'];
  /** Who calls a public route, if a live session says so; counts against no limit and refuses nobody. */
  identify(request: FastifyRequest): Promise<OperatorCaller | null>;
}

type Found = { ok: true; session: LiveSession | null; caller: OperatorCaller; byCookie: boolean } | Unknown;

/**
 * Checks operators' requests in order: token and live session (or API token), the operator's limit, CSRF when the
 * token came in a cookie, role, scope of an API token, reach within the fleet. Failed attempts count against the address.
 */
export function createOperatorGuard({
  platform,
  tokenCallers,
  limiter,
  tokens,
  cookies,
  sessionIdleMs,
}: OperatorGuardDeps): OperatorGuard {
  async function find(request: FastifyRequest): Promise<Found> {
    const bearer = bearerOf(request.headers.authorization);
    if (bearer?.startsWith(API_TOKEN_PREFIX)) {
      const found = await tokenCallers.find(bearer);
      if (!found.ok) return found;
      return { ok: true, session: null, caller: { ...found.caller, address: request.ip }, byCookie: false };
    }
    const token = bearer ?? cookies.read(request.headers.cookie);
    if (!token) return { ok: false, code: 'unauthenticated' };
    const verified = await tokens.verify(token);
    if (!verified.ok) return verified;
    const { sessionId, operatorId } = verified;
    const session = await findLiveSession(platform.database.read, {
      sessionId,
      operatorId,
      nowMs: platform.now(),
      idleMs: sessionIdleMs,
    });
    if (!session) return { ok: false, code: 'access_token_invalid' };
    const { username, role } = session;
    const groups = readGroups(session.groups);
    const secondFactor = secondFactorOf(session);
    return {
      ok: true,
      session,
      caller: { operatorId, username, role, groups, sessionId, address: request.ip, secondFactor },
      byCookie: bearer === null,
    };
  }

  /** Throttled to once a minute per session; failure is ignored, so that reads go on while nothing can be written. */
  async function recordUse(session: LiveSession, { sessionId }: OperatorCaller): Promise<void> {
    const nowMs = platform.now();
    const unlessAfterMs = nowMs - SESSION_USE_STEP_MS;
    if ((session.last_used_at ?? session.created_at) > unlessAfterMs) return;
    try {
      await platform.database.transact((tx) => touchSession(tx, { id: sessionId, nowMs, unlessAfterMs }));
    } catch (error) {
      if (!(error instanceof DatabaseFault)) throw error;
    }
  }

  function secondFactorOf(session: LiveSession): SecondFactor {
    const { factors, second_factor_at, password_at, method } = session;
    const isWithin = (provenAt: number | null, lifetimeMs: number) =>
      provenAt !== null && platform.now() - provenAt <= lifetimeMs;
    return {
      methods: factors,
      isFresh: isWithin(second_factor_at, STEP_UP_LIFETIME_MS),
      isPasswordFresh: isWithin(password_at, PASSWORD_LIFETIME_MS),
      credentials: credentialsOf(session),
      isProviderFactor: method === 'provider+factor',
    };
  }

  return {
    async guard(request, access) {
      const found = await find(request);
      if (!found.ok) {
        enforceLimit(limiter, { limitClass: 'public_access', key: addressKey(request) });
        throw new Refusal(found.code, { detail: 'Log in to use this.' });
      }
      const { caller, session } = found;
      // Guesses within one session do not use up the limit of the operator's other sessions.
      const key = access.limit === 'login' ? caller.sessionId : callerKey(caller);
      await enforceForAll(limiter, { limitClass: access.limit, key });
      if (session && !access.toEnrol) {
        demandEnrolled(session, platform.now());
        demandSecondStep(session);
      }
      if (session && found.byCookie && changesState(request.method)) checkSameOrigin(request, session);
      if (!roleIncludes(caller.role, access.role)) {
        throw new Refusal('forbidden', { detail: `This requires the role ${access.role}.` });
      }
      demandScope(caller, { access, method: request.method });
      await demandReach(platform.database.read, { request, access, groups: caller.groups });
      if (session && request.headers[BACKGROUND_HEADER] === undefined) await recordUse(session, caller);
      if (access.stepUp === 'credentials') demandFreshCredentials(caller);
      else if (access.stepUp) demandFreshFactor(caller);
      return caller;
    },
    async identify(request) {
      const found = await find(request);
      return found.ok ? found.caller : null;
    },
  };
}

function credentialsOf({ method, hasPassword }: LiveSession): ('password' | 'provider')[] {
  const isByProvider = method === 'provider' || method === 'provider+factor';
  return [...(hasPassword ? ['password' as const] : []), ...(isByProvider ? ['provider' as const] : [])];
}

/** Null without the header; an empty text, which is never a token, for another scheme. */
function bearerOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  return /^Bearer +([^\s]+)$/i.exec(header)?.[1] ?? '';
}

function changesState(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
}

/** Browsers attach cookies by themselves, so the origin must match and our own script must send the CSRF token. */
function checkSameOrigin(request: FastifyRequest, session: LiveSession): void {
  if (!isSameOrigin(request)) {
    throw new Refusal('forbidden', { detail: 'The request comes from another site.' });
  }
  const given = request.headers[CSRF_HEADER];
  const isRight =
    typeof given === 'string' &&
    timingSafeEqual(Buffer.from(csrfHash(given)), Buffer.from(session.csrf_hash));
  if (!isRight) throw new Refusal('forbidden', { detail: `The header ${CSRF_HEADER} is missing or wrong.` });
}

/** By Sec-Fetch-Site where the browser sends it (no script can forge it), else by Origin. */
export function isSameOrigin(request: Pick<FastifyRequest, 'headers' | 'host'>): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = request.headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === request.host;
}
