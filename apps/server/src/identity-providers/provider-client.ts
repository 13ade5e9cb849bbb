import { createRemoteJWKSet, type JWTPayload, customFetch as jwksFetch, jwtVerify } from 'jose';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clockSkew,
  clockTolerance,
  customFetch,
  discovery,
  fetchUserInfo,
  type ServerMetadata,
} from 'openid-client';
import type { Dispatcher } from 'undici';
import type { Platform } from '../platform/platform.ts';
import { openSecret } from '../platform/seal-secret.ts';
import { createWorkQueue } from '../platform/work-queue.ts';
import { type Claims, claimAt } from './claim-rules.ts';
import { clockFault, explainFault, type ProviderFault, TOKEN_ALGORITHMS } from './explain-fault.ts';
import { type Provider, readProvider } from './provider.ts';
import { ANSWER_TIMEOUT_MS, createProviderFetch, type ProviderFetch } from './provider-fetch.ts';
import type { ProviderRow } from './store.ts';

/** How far the clocks of a provider and this server may differ, in seconds. */
export const CLOCK_TOLERANCE_SECONDS = 30;
/** A login takes an older session at the provider for none, in seconds. */
const SIGN_IN_AGE_SECONDS = '86400';
/** How long a provider's description of itself is used without asking again. */
const METADATA_LIFETIME_MS = 3_600_000;
/** Keys are fetched again for a token with an unknown one, at most this often. */
const KEYS_COOLDOWN_MS = 10_000;
const KEYS_LIFETIME_MS = 600_000;
/** Sign-ins that call a provider at once, and those that wait. */
const RUNNING_MAX = 8;
const WAITING_MAX = 64;

export type Outcome<T> = { ok: true; value: T } | { ok: false; fault: ProviderFault };

/** What a sign-in proved; every check of OpenID Connect has passed. */
export interface ProvenAccount {
  issuer: string;
  subject: string;
  /** Of the ID token, and of the userinfo endpoint where the token lacks the groups. */
  claims: Claims;
  idToken: string;
}

/** What the browser was sent to a provider with, and must come back for. */
export interface Expected {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
  /** The person must have signed in within these seconds; null: any session of the provider will do. */
  maxAgeSeconds: number | null;
}

export interface ProviderClient {
  authorizationUrl(
    row: ProviderRow,
    asked: Omit<Expected, 'maxAgeSeconds'> & { isAgain: boolean },
  ): Promise<Outcome<string>>;
  /** Exchanges the code of a callback. `query`: the callback's, as it came. */
  prove(row: ProviderRow, expected: Expected, query: string): Promise<Outcome<ProvenAccount>>;
  /** The verified claims of a logout token; what they mean is the caller's to check. */
  verifyLogoutToken(row: ProviderRow, token: string): Promise<Outcome<JWTPayload>>;
  /** Where to log out at the provider; null where it has no such place. */
  logoutUrl(row: ProviderRow, asked: { idToken: string | null; returnTo: string }): Promise<string | null>;
  /** For the test of a provider: never from the cache. */
  describe(row: ProviderRow): Promise<Outcome<{ metadata: ServerMetadata; config: Configuration }>>;
  fetch: ProviderFetch;
  /** After a change. */
  forget(providerId: string): void;
}

export interface ProviderClientDeps {
  platform: Platform;
  dispatcher: Dispatcher;
  /** Seals what the database keeps of providers. */
  key: Buffer;
  keysCooldownMs?: number;
}

/** Speaks OpenID Connect with the configured providers. At most RUNNING_MAX calls are under way at once. */
export function createProviderClient({
  platform,
  dispatcher,
  key,
  keysCooldownMs = KEYS_COOLDOWN_MS,
}: ProviderClientDeps): ProviderClient {
  const fetch = createProviderFetch(dispatcher);
  const inTurn = createWorkQueue({
    ...{ running: RUNNING_MAX, waiting: WAITING_MAX, what: 'sign-ins', random: platform.random },
  });
  const described = new Map<string, { row: ProviderRow; metadata: ServerMetadata; atMs: number }>();
  const keySets = new Map<string, { uri: string; keys: ReturnType<typeof createRemoteJWKSet> }>();

  async function attempt<T>(work: () => Promise<T>): Promise<Outcome<T>> {
    return inTurn(async () => {
      try {
        return { ok: true, value: await work() };
      } catch (error) {
        const fault = error instanceof Untrusted ? error.fault : explainFault(error);
        if (!fault) throw error;
        return { ok: false, fault };
      }
    });
  }

  async function metadataOf(row: ProviderRow): Promise<ServerMetadata> {
    const known = described.get(row.id);
    const isFresh = known && known.row.changed_at === row.changed_at && known.row.issuer === row.issuer;
    if (isFresh && platform.now() - known.atMs < METADATA_LIFETIME_MS) return known.metadata;
    const metadata = await discover(row);
    described.set(row.id, { row, metadata, atMs: platform.now() });
    return metadata;
  }

  async function discover(row: ProviderRow): Promise<ServerMetadata> {
    const provider = readProvider(row);
    const config = await discovery(new URL(provider.issuer), provider.clientId, undefined, undefined, {
      [customFetch]: fetch,
      timeout: ANSWER_TIMEOUT_MS / 1_000,
      execute: isPlain(provider) ? [allowInsecureRequests] : [],
    });
    const metadata = config.serverMetadata();
    checkAddresses(provider, metadata);
    return metadata;
  }

  function configurationOf(row: ProviderRow, metadata: ServerMetadata): Configuration {
    const provider = readProvider(row);
    const secret = secretOf(row);
    const config = new Configuration(
      metadata,
      provider.clientId,
      {
        [clockSkew]: Math.round((platform.now() - Date.now()) / 1_000),
        [clockTolerance]: CLOCK_TOLERANCE_SECONDS,
      },
      provider.clientAuth === 'client_secret_basic' ? ClientSecretBasic(secret) : ClientSecretPost(secret),
    );
    config.timeout = ANSWER_TIMEOUT_MS / 1_000;
    config[customFetch] = fetch;
    if (isPlain(provider)) allowInsecureRequests(config);
    return config;
  }

  function secretOf(row: ProviderRow): string {
    const secret = openSecret(row.sealed_secret, { key, owner: row.id });
    if (secret) return secret.toString();
    throw new Untrusted({
      reason: 'client',
      text: 'The client secret was stored under another token secret of this server: enter it again.',
    });
  }

  function keysOf(row: ProviderRow, metadata: ServerMetadata) {
    const uri = metadata.jwks_uri;
    if (uri === undefined) {
      throw new Untrusted({
        reason: 'endpoint',
        text: 'The provider names no address of its keys (jwks_uri).',
      });
    }
    const known = keySets.get(row.id);
    if (known?.uri === uri) return known.keys;
    const keys = createRemoteJWKSet(new URL(uri), {
      [jwksFetch]: fetch,
      timeoutDuration: ANSWER_TIMEOUT_MS,
      cooldownDuration: keysCooldownMs,
      cacheMaxAge: KEYS_LIFETIME_MS,
    });
    keySets.set(row.id, { uri, keys });
    return keys;
  }

  /** openid-client trusts the connection that an ID token came over; a signature also covers proxies on the way. */
  async function verify(row: ProviderRow, token: string, { issuer }: { issuer: string }) {
    const metadata = await metadataOf(row);
    return jwtVerify(token, keysOf(row, metadata), {
      algorithms: TOKEN_ALGORITHMS,
      ...{ issuer, audience: row.client_id },
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(platform.now()),
      requiredClaims: ['iat'],
    });
  }

  return {
    fetch,
    authorizationUrl: (row, asked) =>
      attempt(async () => {
        const provider = readProvider(row);
        const config = configurationOf(row, await metadataOf(row));
        const url = buildAuthorizationUrl(config, {
          redirect_uri: asked.redirectUri,
          scope: provider.scopes.join(' '),
          state: asked.state,
          nonce: asked.nonce,
          code_challenge: await calculatePKCECodeChallenge(asked.verifier),
          code_challenge_method: 'S256',
          ...(provider.acrValues === null ? {} : { acr_values: provider.acrValues }),
          // With an age the token tells when the person signed in.
          ...(asked.isAgain ? { max_age: '0', prompt: 'login' } : { max_age: SIGN_IN_AGE_SECONDS }),
        });
        return url.href;
      }),
    prove: (row, expected, query) =>
      attempt(async () => {
        const provider = readProvider(row);
        const config = configurationOf(row, await metadataOf(row));
        const tokens = await authorizationCodeGrant(config, new URL(`${expected.redirectUri}?${query}`), {
          expectedState: expected.state,
          expectedNonce: expected.nonce,
          pkceCodeVerifier: expected.verifier,
          idTokenExpected: true,
          ...(expected.maxAgeSeconds === null ? {} : { maxAge: expected.maxAgeSeconds }),
        });
        const claims = tokens.claims();
        if (!claims || tokens.id_token === undefined) {
          throw new Untrusted({
            reason: 'claim',
            text: 'The provider sent no ID token: the scope openid is missing.',
          });
        }
        const aheadSeconds = claims.iat - platform.now() / 1_000;
        if (aheadSeconds > CLOCK_TOLERANCE_SECONDS) throw new Untrusted(clockFault(Math.round(aheadSeconds)));
        await verify(row, tokens.id_token, { issuer: claims.iss });
        const isComplete = claimAt(claims, provider.groupClaim) !== undefined;
        const more =
          isComplete || config.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await fetchUserInfo(config, tokens.access_token, claims.sub);
        // What the token says counts: only its signature was checked.
        return {
          ...{ issuer: claims.iss, subject: claims.sub, idToken: tokens.id_token },
          claims: { ...more, ...claims },
        };
      }),
    verifyLogoutToken: (row, token) =>
      attempt(async () => {
        const { issuer } = await metadataOf(row);
        const { payload, protectedHeader } = await verify(row, token, { issuer });
        const { typ } = protectedHeader;
        if (typ !== undefined && !/^(application\/)?(logout\+jwt|jwt)$/i.test(typ)) {
          throw new Untrusted({ reason: 'claim', text: 'The token is of another type than logout+jwt.' });
        }
        return payload;
      }),
    async logoutUrl(row, { idToken, returnTo }) {
      const built = await attempt(async () => {
        const metadata = await metadataOf(row);
        if (metadata.end_session_endpoint === undefined) return null;
        return buildEndSessionUrl(configurationOf(row, metadata), {
          post_logout_redirect_uri: returnTo,
          ...(idToken === null ? {} : { id_token_hint: idToken }),
        }).href;
      });
      return built.ok ? built.value : null;
    },
    describe: (row) =>
      attempt(async () => {
        const metadata = await discover(row);
        return { metadata, config: configurationOf(row, metadata) };
      }),
    forget(providerId) {
      described.delete(providerId);
      keySets.delete(providerId);
    },
  };
}

/** A check of our own that failed. */
class Untrusted extends Error {
  readonly fault: ProviderFault;
  constructor(fault: ProviderFault) {
    super(fault.text);
    this.fault = fault;
  }
}

/** Whether the provider is on this machine, without TLS: for tests and development. */
function isPlain({ issuer }: Pick<Provider, 'issuer'>): boolean {
  return issuer.startsWith('http:');
}

/** Browsers and this server are sent only where a certificate names the one who answers. */
function checkAddresses(provider: Provider, metadata: ServerMetadata): void {
  const { authorization_endpoint, token_endpoint } = metadata;
  for (const [name, url] of Object.entries({ authorization_endpoint, token_endpoint })) {
    if (url === undefined)
      throw new Untrusted({ reason: 'endpoint', text: `The provider names no ${name}.` });
  }
  const named = { authorization_endpoint, token_endpoint, jwks_uri: metadata.jwks_uri };
  const optional = {
    end_session_endpoint: metadata.end_session_endpoint,
    userinfo_endpoint: metadata.userinfo_endpoint,
  };
  const allowed = isPlain(provider) ? ['https:', 'http:'] : ['https:'];
  for (const [name, url] of Object.entries({ ...named, ...optional })) {
    if (url === undefined) continue;
    if (!URL.canParse(url) || !allowed.includes(new URL(url).protocol)) {
      throw new Untrusted({ reason: 'endpoint', text: `The provider's ${name} is not an https address.` });
    }
  }
}
