import { revokeTokensOf } from '../api-tokens/store.ts';
import { createTokenCallers } from '../api-tokens/token-callers.ts';
import type { Config } from '../config.ts';
import { mountAllSessions } from '../operators/all-sessions-routes.ts';
import { mountAuth } from '../operators/auth-routes.ts';
import { mountFactors } from '../operators/factor-routes.ts';
import { prepareFirstOperator } from '../operators/first-operator.ts';
import { mountNotices } from '../operators/notice-routes.ts';
import { createOperatorGuard } from '../operators/operator-guard.ts';
import { mountOperators } from '../operators/operators-routes.ts';
import { mountPasskeys } from '../operators/passkey-routes.ts';
import { createPasswords } from '../operators/passwords/passwords.ts';
import { mountSessions } from '../operators/session-routes.ts';
import { createSessionCookies } from '../operators/sessions/cookies.ts';
import { guessStates } from '../operators/sessions/guess-states.ts';
import { createKnownDevices } from '../operators/sessions/known-devices.ts';
import { createLoginThrottle } from '../operators/sessions/login-throttle.ts';
import { createOperatorTokens } from '../operators/sessions/operator-tokens.ts';
import { mountSetupPage } from '../operators/setup-page.ts';
import type { App } from '../platform/http/server.ts';
import { isHttps, type Opening } from './parts.ts';

const DAY_MS = 86_400_000;

export type Operators = ReturnType<typeof openOperators>;

/** Sessions, passwords and the guard of operators. */
export function openOperators(opening: Opening) {
  const { config, platform, secrets, journal, limiter } = opening;
  const { now, random } = platform;
  const tokens = createOperatorTokens({ secret: secrets.operatorSessions, now });
  const cookies = createSessionCookies({ secure: isHttps(opening) });
  const sessionIdleMs = config.sessionIdleMinutes * 60_000;
  const passwords = createPasswords({ random });
  return {
    platform,
    guard: createOperatorGuard({
      ...{ platform, limiter, tokens, cookies, sessionIdleMs },
      tokenCallers: createTokenCallers(platform, journal),
    }),
    auth: {
      ...{ platform, passwords, tokens, cookies, sessionIdleMs, baseUrl: config.baseUrl },
      throttle: createLoginThrottle({ now, states: guessStates(platform, { key: secrets.loginGuesses }) }),
      devices: createKnownDevices({ key: secrets.knownDevices, now, random, secure: isHttps(opening) }),
      factorKey: secrets.operatorFactors,
      factorPolicy: { who: config.secondFactor, graceMs: config.secondFactorGraceDays * DAY_MS },
    },
    // A queue for operators who are logged in: a flood of logins never delays a change of a password.
    knownPasswords: createPasswords({ random, running: 1 }),
    /** Path of the one-time page for the first operator; null once one exists. */
    async prepareSetup(): Promise<string | null> {
      const configured = firstOperatorOf(config);
      const first = await prepareFirstOperator(platform, { passwords, configured });
      return first.kind === 'link' ? first.path : null;
    },
  };
}

export function mountOperatorRoutes(http: App, { platform, auth, knownPasswords }: Operators): void {
  mountAuth(http.routes, auth);
  mountSessions(http.routes, { ...auth, passwords: knownPasswords });
  mountAllSessions(http.routes, auth);
  mountFactors(http.routes, auth);
  mountNotices(http.routes, { platform });
  mountPasskeys(http.routes, auth);
  mountSetupPage(http, auth);
  mountOperators(http.routes, { platform, passwords: knownPasswords, endTokens: revokeTokensOf });
}

/** The first operator of the settings; null where the set-up page is to make one. */
export function firstOperatorOf({
  adminUsername: username,
  adminPassword: password,
}: Config): { username: string; password: string } | null {
  return username === null || password === null ? null : { username, password };
}
