import { revokeTokensOf } from '../api-tokens/store.ts';
import { mountIdentityProviders } from '../identity-providers/admin-routes.ts';
import { mountProviderPages } from '../identity-providers/browser-routes.ts';
import { createProviderClient } from '../identity-providers/provider-client.ts';
import { createSignInCookie } from '../identity-providers/sign-in-cookie.ts';
import { mountSignIn } from '../identity-providers/sign-in-routes.ts';
import { createDestinations } from '../platform/destinations.ts';
import type { App } from '../platform/http/server.ts';
import { createOutgoing } from '../platform/outgoing.ts';
import type { Operators } from './open-operators.ts';
import { isHttps, type Opening } from './parts.ts';

/** Connections to one provider at once. */
const CONNECTIONS_MAX = 8;

/** Sign-in by identity providers: the one place where a request calls out (decision 0080). */
export function mountProviderRoutes(http: App, opening: Opening, { auth }: Operators): void {
  const { config, platform, secrets, background } = opening;
  const { now, random } = platform;
  const destinations = createDestinations(config.privateDestinations);
  const dispatcher = createOutgoing({ connections: CONNECTIONS_MAX, destinations });
  background.useOutgoing('identity providers', { stop: () => dispatcher.destroy() });
  const key = secrets.identityProviders;
  const deps = {
    ...auth,
    ...{ platform, key, endTokens: revokeTokensOf },
    client: createProviderClient({ platform, dispatcher, key }),
    cookie: createSignInCookie({ key, now, random, secure: isHttps(opening) }),
  };
  mountSignIn(http.routes, deps);
  mountProviderPages(http, deps);
  mountIdentityProviders(http.routes, deps);
}
