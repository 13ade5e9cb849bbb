import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration, type JWK } from 'oidc-provider';

/** What the provider says of the person who signs in. */
export interface PersonClaims {
  sub: string;
  groups?: readonly string[];
  preferred_username?: string;
  /** How the person signed in, of ACR_VALUES. */
  acr?: string;
}

export interface IdentityProviderOptions {
  clientId?: string;
  clientSecret?: string;
  redirectUris: readonly string[];
  /** Where the server of the client is told of logouts. */
  backchannelLogoutUri?: string;
  postLogoutRedirectUris?: readonly string[];
  /** Shows a page that asks who signs in, in place of signing in the person of `signInAs`. */
  asks?: boolean;
}

export interface TestIdentityProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Who signs in from now on. */
  signInAs(person: PersonClaims): void;
  /** Signs with another key from now on, and publishes that one alone. */
  rotateKeys(): void;
  /** Sends a browser without a window through the provider; returns the URL that it is sent back to. */
  visit(url: string, browser?: CookieJar): Promise<string>;
  /** Logs a browser out at the provider, which tells its clients. */
  logOut(browser: CookieJar): Promise<void>;
  stop(): Promise<void>;
}

export type CookieJar = Map<string, string>;

const HOPS_MAX = 12;
const ACR_VALUES = ['urn:one', 'urn:two'];

/** A real OpenID provider (`oidc-provider`) on a free port of this machine, without TLS. */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<TestIdentityProvider> {
  const { clientId = 'tidegate', clientSecret = 'the secret of the client' } = options;
  const server = createServer();
  const issuer = await listen(server);
  let person: PersonClaims = { sub: 'ada-1', groups: ['admins'], preferred_username: 'ada' };
  const people = new Map<string, PersonClaims>();
  const failedLogouts: string[] = [];
  let provider = make(newKey());

  function make(key: JWK): Provider {
    const made = new Provider(issuer, configurationOf({ ...options, clientId, clientSecret, key, people }));
    made.on('backchannel.error', (_ctx, error) => {
      failedLogouts.push(String(error));
    });
    return made;
  }

  async function interact(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (options.asks && req.method !== 'POST') {
      res.setHeader('content-type', 'text/html; charset=utf-8');
      res.end(`<!doctype html><html lang="en"><title>Example provider</title><h1>Example provider</h1>
<form method="post"><button>Sign in as ${person.preferred_username}</button></form></html>`);
      return;
    }
    people.set(person.sub, person);
    const acr = person.acr === undefined ? {} : { acr: person.acr };
    const login = { accountId: person.sub, remember: false, ...acr };
    await provider.interactionFinished(req, res, { login }, { mergeWithLastSubmission: false });
  }

  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    if (req.url?.startsWith('/interaction/')) void interact(req, res);
    else void provider.callback()(req, res);
  });

  async function ask(url: string, jar: CookieJar, form?: URLSearchParams): Promise<Response> {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const body = form ? { method: 'POST', body: form } : {};
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie }, ...body });
    for (const line of answer.headers.getSetCookie()) remember(jar, line);
    return answer;
  }

  return {
    ...{ issuer, clientId, clientSecret },
    signInAs(next) {
      person = next;
    },
    rotateKeys() {
      provider = make(newKey());
    },
    async visit(url, jar = new Map()) {
      let at = url;
      for (let hop = 0; hop < HOPS_MAX; hop++) {
        const answer = await ask(at, jar);
        const location = answer.headers.get('location');
        if (location === null) throw new Error(`${at} answered ${answer.status}: ${await answer.text()}`);
        at = new URL(location, at).href;
        if (!at.startsWith(issuer)) return at;
      }
      throw new Error('the provider redirects without end');
    },
    async logOut(jar) {
      const page = await (await ask(`${issuer}/session/end`, jar)).text();
      const xsrf = /name="xsrf" value="(\w+)"/.exec(page)?.[1];
      if (xsrf === undefined) throw new Error(`no form to log out: ${page}`);
      await ask(`${issuer}/session/end/confirm`, jar, new URLSearchParams({ xsrf, logout: 'yes' }));
      if (failedLogouts.length > 0) throw new Error(failedLogouts.join());
    },
    async stop() {
      server.closeAllConnections();
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      await promise;
    },
  };
}

function configurationOf(of: {
  clientId: string;
  clientSecret: string;
  redirectUris: readonly string[];
  backchannelLogoutUri?: string;
  postLogoutRedirectUris?: readonly string[];
  key: JWK;
  people: ReadonlyMap<string, PersonClaims>;
}): Configuration {
  return {
    clients: [
      {
        client_id: of.clientId,
        client_secret: of.clientSecret,
        redirect_uris: [...of.redirectUris],
        post_logout_redirect_uris: [...(of.postLogoutRedirectUris ?? [])],
        ...(of.backchannelLogoutUri === undefined
          ? {}
          : {
              backchannel_logout_uri: of.backchannelLogoutUri,
              backchannel_logout_session_required: true,
            }),
      },
    ],
    jwks: { keys: [of.key] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    acrValues: ACR_VALUES,
    scopes: ['openid', 'profile', 'email'],
    claims: {
      acr: null,
      auth_time: null,
      iss: null,
      sid: null,
      openid: ['sub', 'groups', 'preferred_username'],
      profile: [],
      email: [],
    },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    ttl: {
      Session: 3_600,
      Interaction: 600,
      Grant: 3_600,
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
    },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: async () => ({ ...of.people.get(sub), sub }),
    }),
    // Without the library's guard against private addresses: everything is on this machine.
    fetch(url, { method = 'GET', headers = {}, body = null, redirect = 'manual' } = {}) {
      return fetch(url, { method, headers, body, redirect });
    },
    // Nobody is asked for consent.
    async loadExistingGrant({ oidc }) {
      const { client, session } = oidc;
      if (!client || session?.accountId === undefined) return undefined;
      const grant = new oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  };
}

function newKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { ...privateKey.export({ format: 'jwk' }), kty: 'RSA', kid: randomUUID(), use: 'sig', alg: 'RS256' };
}

async function listen(server: Server): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

function remember(jar: CookieJar, line: string): void {
  const [pair = ''] = line.split(';');
  const [name = '', value = ''] = pair.split('=');
  if (value === '') jar.delete(name);
  else jar.set(name, value);
}
