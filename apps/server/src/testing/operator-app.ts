import type { AdvisoryCheck } from '@tidegate/protocol/health-api';
import type { InjectOptions } from 'fastify';
import { onTestFinished } from 'vitest';
import { mountApiTokens } from '../api-tokens/routes.ts';
import { revokeTokensOf } from '../api-tokens/store.ts';
import { createTokenCallers } from '../api-tokens/token-callers.ts';
import { mountClientErrors } from '../client-errors/routes.ts';
import { mountHealth } from '../health/routes.ts';
import { mountIdentityProviders } from '../identity-providers/admin-routes.ts';
import { mountProviderPages } from '../identity-providers/browser-routes.ts';
import { createProviderClient } from '../identity-providers/provider-client.ts';
import { createSignInCookie } from '../identity-providers/sign-in-cookie.ts';
import { mountSignIn } from '../identity-providers/sign-in-routes.ts';
import { MIGRATIONS } from '../migrations.ts';
import { installOpenApi } from '../openapi/document.ts';
import { mountOpenApi } from '../openapi/routes.ts';
import { mountAllSessions } from '../operators/all-sessions-routes.ts';
import { type AuthDeps, mountAuth } from '../operators/auth-routes.ts';
import type { FactorPolicy } from '../operators/demand-factor.ts';
import { mountFactors } from '../operators/factor-routes.ts';
import { prepareFirstOperator } from '../operators/first-operator.ts';
import { mountNotices } from '../operators/notice-routes.ts';
import { createOperatorGuard } from '../operators/operator-guard.ts';
import { mountOperators } from '../operators/operators-routes.ts';
import { mountPasskeys } from '../operators/passkey-routes.ts';
import { mountSessions } from '../operators/session-routes.ts';
import { createSessionCookies } from '../operators/sessions/cookies.ts';
import { guessStates } from '../operators/sessions/guess-states.ts';
import { createKnownDevices } from '../operators/sessions/known-devices.ts';
import { createLoginThrottle } from '../operators/sessions/login-throttle.ts';
import { createOperatorTokens, SESSION_LIFETIME_SECONDS } from '../operators/sessions/operator-tokens.ts';
import { mountSetupPage } from '../operators/setup-page.ts';
import { createDestinations } from '../platform/destinations.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { installSecurityHeaders } from '../platform/http/security-headers.ts';
import { type App, createHttpServer } from '../platform/http/server.ts';
import { createOutgoing } from '../platform/outgoing.ts';
import { createOpenGuard, createPublicGuard } from '../rate-limits/public-guard.ts';
import { createRateLimits } from '../rate-limits/rate-limits.ts';
import { mountRateLimits } from '../rate-limits/routes.ts';
import { createCheapPasswords } from './cheap-passwords.ts';
import { checkAnswers } from './check-answers.ts';
import type { TestEngine } from './engines.ts';
import { createTestPlatform } from './test-platform.ts';

export const ADMIN = { username: 'root', password: 'correct horse battery' };

export interface OperatorAppOptions {
  secure?: boolean;
  trustedProxies?: readonly string[];
  /** Time since the server started; past the start-up penalty unless set. */
  bootedAgoMs?: number;
  advisories?: () => AdvisoryCheck;
  isDraining?: () => boolean;
  withAdmin?: boolean;
  baseUrl?: string;
  /** The maximum life of a session by default: most tests are not about idleness. */
  sessionIdleMs?: number;
  factorPolicy?: FactorPolicy;
  /** Past the real time's edge: a provider has the clock of this machine. */
  startMs?: number;
  providers?: { privateNetworks?: readonly string[] };
}

/** The operators' side of the server on a real database, with a manual clock. */
export async function createOperatorApp(engine: TestEngine, options: OperatorAppOptions = {}) {
  const { secure = false, withAdmin = true, sessionIdleMs = SESSION_LIFETIME_SECONDS * 1_000 } = options;
  const database = await engine.open();
  const platform = createTestPlatform(
    database,
    options.startMs === undefined ? {} : { startMs: options.startMs },
  );
  const bootedAt = platform.now() - (options.bootedAgoMs ?? 60_000);
  const rateLimits = await createRateLimits({ platform, bootedAt });
  const { limiter } = rateLimits;
  const tokens = createOperatorTokens({ secret: Buffer.alloc(32, 7), now: platform.now });
  const passwords = createCheapPasswords(platform.random);
  const cookies = createSessionCookies({ secure });
  const states = guessStates(platform, { key: Buffer.alloc(32, 10) });
  const throttle = createLoginThrottle({ now: platform.now, states });
  const devices = createKnownDevices({
    ...{ key: Buffer.alloc(32, 9), now: platform.now },
    ...{ random: platform.random, secure },
  });
  const { guard, identify } = createOperatorGuard({
    ...{ platform, limiter, tokens, cookies, sessionIdleMs },
    tokenCallers: createTokenCallers(platform, { has: () => false }),
  });
  const app = createHttpServer({
    log: platform.log,
    trustedProxies: options.trustedProxies ?? [],
    tls: null,
    guards: {
      public: createPublicGuard(limiter),
      anyone: createOpenGuard(limiter, identify),
      own: rateLimits.addressGuard,
      operator: guard,
      agent: () => Promise.reject(new Refusal('unauthenticated', { detail: 'no agents here' })),
    },
  });
  onTestFinished(() => app.close());
  checkAnswers(app);
  await installOpenApi(app, { version: '1.2.3' });
  installSecurityHeaders(app, { hstsMaxAgeSeconds: 31_536_000 });
  mountRateLimits(app.routes, rateLimits);
  const auth: AuthDeps = {
    ...{ platform, throttle, devices, passwords, tokens, cookies, sessionIdleMs },
    baseUrl: options.baseUrl ?? null,
    factorKey: Buffer.alloc(32, 8),
    factorPolicy: options.factorPolicy ?? { who: 'optional', graceMs: 0 },
  };
  mountAuth(app.routes, auth);
  mountSessions(app.routes, auth);
  mountAllSessions(app.routes, auth);
  mountFactors(app.routes, auth);
  mountNotices(app.routes, { platform });
  mountPasskeys(app.routes, auth);
  mountSetupPage(app, auth);
  mountOperators(app.routes, { platform, passwords, endTokens: revokeTokensOf });
  mountApiTokens(app.routes, { platform });
  const providerClient = mountProviders(app, { ...auth, secure, providers: options.providers ?? {} });
  mountClientErrors(app.routes, { platform });
  mountHealth(app.routes, {
    ...{ platform, schemaVersion: MIGRATIONS.at(-1)?.version ?? 0 },
    version: '1.2.3',
    bootedAt,
    advisories: options.advisories ?? (() => 'ok'),
    isDraining: options.isDraining ?? (() => false),
  });
  mountOpenApi(app);
  const first = await prepareFirstOperator(platform, { passwords, configured: withAdmin ? ADMIN : null });

  async function send(method: InjectOptions['method'], url: string, rest: InjectOptions = {}) {
    return app.inject({ method: method ?? 'GET', url, ...rest });
  }
  async function logIn(credentials: { username: string; password: string } = ADMIN): Promise<LoggedIn> {
    const answer = await send('POST', '/api/v1/auth/login', { payload: credentials });
    if (answer.statusCode !== 200) throw new Error(`login answered ${answer.statusCode}: ${answer.body}`);
    const cookie = answer.cookies.map((c) => `${c.name}=${c.value}`).join('; ');
    const token: string = answer.json().token;
    const csrf = answer.cookies.find((c) => c.name.endsWith('csrf'))?.value ?? '';
    return { token, cookie, csrf, headers: { authorization: `Bearer ${token}` } };
  }
  return {
    app,
    platform,
    clock: platform.clock,
    database,
    rateLimits,
    tokens,
    passwords,
    first,
    send,
    logIn,
    providerClient,
  };
}

/** Sign-in by providers on this machine. */
function mountProviders(
  app: App,
  {
    secure,
    providers,
    ...auth
  }: AuthDeps & { secure: boolean; providers: NonNullable<OperatorAppOptions['providers']> },
) {
  const { platform } = auth;
  const destinations = createDestinations(providers.privateNetworks ?? ['127.0.0.1', '::1']);
  const dispatcher = createOutgoing({ destinations }, {});
  onTestFinished(() => dispatcher.destroy());
  const key = Buffer.alloc(32, 6);
  const client = createProviderClient({ platform, dispatcher, key, keysCooldownMs: 0 });
  const cookie = createSignInCookie({ key, now: platform.now, random: platform.random, secure });
  const deps = { ...auth, client, cookie, key, endTokens: revokeTokensOf };
  mountSignIn(app.routes, deps);
  mountProviderPages(app, deps);
  mountIdentityProviders(app.routes, deps);
  return client;
}

export interface LoggedIn {
  token: string;
  cookie: string;
  csrf: string;
  headers: { authorization: string };
}
