import type { OperatorCaller } from '../platform/http/access.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { placeAfter } from './place-rules.ts';
import { redirectUri } from './provider.ts';
import type { ProviderClient } from './provider-client.ts';
import type { SignIn, SignInCookie } from './sign-in-cookie.ts';
import { findProvider } from './store.ts';

const SECRET_BYTES = 32;

export interface BeginDeps {
  platform: Platform;
  client: ProviderClient;
  cookie: SignInCookie;
}

/** Where to send the browser, and the cookie that it must come back with. */
export async function beginSignIn(
  { platform, client, cookie }: BeginDeps,
  asked: {
    providerId: string;
    purpose: SignIn['purpose'];
    /** Who proves or binds an account; null at a login. */
    caller: Pick<OperatorCaller, 'operatorId' | 'sessionId' | 'username'> | null;
    next: string | undefined;
    /** Of the console, as browsers know it. */
    origin: string;
  },
): Promise<{ url: string; setCookie: string }> {
  const { providerId, purpose, caller } = asked;
  const row = await findProvider(platform.database.read, providerId);
  if (!row || row.enabled === 0) throw noSuch('identity provider');
  const secret = () => platform.random(SECRET_BYTES).toString('base64url');
  const signIn: SignIn = {
    provider_id: row.id,
    purpose,
    session: caller && { id: caller.sessionId, operator_id: caller.operatorId, username: caller.username },
    ...{ state: secret(), nonce: secret(), verifier: secret() },
    redirect_uri: redirectUri(asked.origin, row.id),
    next: placeAfter(asked.next),
    began_at: platform.now(),
  };
  const { state, nonce, verifier, redirect_uri } = signIn;
  const sent = { state, nonce, verifier, redirectUri: redirect_uri, isAgain: purpose === 'step_up' };
  const built = await client.authorizationUrl(row, sent);
  if (built.ok) return { url: built.value, setCookie: cookie.open(signIn) };
  const { reason, text } = built.fault;
  platform.log.warn('an identity provider cannot be used', { provider: row.id, reason, text });
  throw new Refusal('unavailable', {
    // The reason names hosts and networks, and everybody may ask.
    detail: `${row.name} cannot be used now. Admins see why with the test of the provider.`,
    retryAfterSeconds: 30,
  });
}
