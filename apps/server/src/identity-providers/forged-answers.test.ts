import { expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { startForgingProvider } from '../testing/forging-provider.ts';
import { createProviderScene, PROVIDERS } from '../testing/provider-scene.ts';

type Claims = Record<string, unknown>;
type Forger = Awaited<ReturnType<typeof startForgingProvider>>;
const [engine] = ENGINES;

async function open(fields: object = {}) {
  if (!engine) throw new Error('no engine');
  const scene = await createProviderScene(engine);
  const forger = await startForgingProvider();
  await scene.addProvider({ issuer: forger.issuer, ...fields });
  const nowSeconds = Math.floor(scene.clock.now() / 1_000);
  const sound = (nonce: string | null): Claims => ({
    ...{ iss: forger.issuer, aud: 'tidegate', sub: 'ada-1', groups: ['admins'], nonce },
    ...{ iat: nowSeconds, exp: nowSeconds + 60, auth_time: nowSeconds },
  });
  return { ...scene, forger, sound, nowSeconds };
}

/** A login whose token is made of the sound claims; the query of the callback may be changed too. */
async function logIn(
  scene: Awaited<ReturnType<typeof open>>,
  make: (claims: Claims, forger: Forger) => Promise<string> | string,
  query: Record<string, string | null> = {},
) {
  const { url, cookie } = await scene.login();
  const asked = new URL(url).searchParams;
  scene.forger.answerWith(await make(scene.sound(asked.get('nonce')), scene.forger));
  const callback = new URL(asked.get('redirect_uri') ?? '');
  const sent = { code: 'x', state: asked.get('state'), iss: scene.forger.issuer, ...query };
  for (const [name, value] of Object.entries(sent))
    if (value !== null) callback.searchParams.set(name, value);
  return scene.comeBack(callback.href, cookie);
}

test('the sound answer, of which each of the others changes one thing, logs in', async () => {
  expect((await logIn(await open(), (claims, { sign }) => sign(claims))).hasSession).toBe(true);
});

const without = (claims: Claims, name: string) =>
  Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));

test.each<
  [what: string, make: (claims: Claims, forger: Forger) => Promise<string> | string, told: string | RegExp]
>([
  ['another nonce', (c, f) => f.sign({ ...c, nonce: 'x' }), /unexpected ID Token "nonce"/],
  ['no nonce', (c, f) => f.sign(without(c, 'nonce')), /no claim nonce|unexpected ID Token "nonce"/],
  ['no subject', (c, f) => f.sign(without(c, 'sub')), 'The token has no claim sub.'],
  ['another audience', (c, f) => f.sign({ ...c, aud: 'another' }), /unexpected JWT "aud"/],
  [
    'a second audience',
    (c, f) => f.sign({ ...c, aud: ['tidegate', 'another'] }),
    /additional untrusted audiences/,
  ],
  ['another issuer', (c, f) => f.sign({ ...c, iss: 'https://evil.example' }), /unexpected JWT "iss"/],
  [
    'an expiry in the past',
    (c, f) => f.sign({ ...c, exp: Number(c.iat) - 100 }),
    /clocks .* differ by \d+ seconds/,
  ],
  [
    'a time of issue in the future',
    (c, f) => f.sign({ ...c, iat: Number(c.iat) + 300 }),
    /clocks .* differ by (299|300) seconds/,
  ],
  ['no signature', (c, f) => f.leaveUnsigned(c), /algorithm that is not accepted|signature|not valid/],
  ['a signature by the client secret', (c, f) => f.signBySecret(c), /algorithm that is not accepted/],
  [
    'a signature by an unknown key',
    (c, f) => f.signStrangely(c, 'strange'),
    /a key that the provider does not publish/,
  ],
  [
    'a wrong signature',
    (c, f) => f.signStrangely(c, 'known'),
    'The signature of the token is wrong: no key that the provider publishes made it.',
  ],
])('refuses an ID token with %s', async (_what, make, told) => {
  const answer = await logIn(await open(), make);
  expect(answer.hasSession).toBe(false);
  expect(answer.told?.replaceAll('&#34;', '"')).toEqual(
    typeof told === 'string' ? told : expect.stringMatching(told),
  );
});

test.each<[what: string, query: Record<string, string | null>, told: string]>([
  [
    'the issuer of another provider (RFC 9207)',
    { iss: 'https://other.example' },
    'does not come from this provider',
  ],
  ['no issuer where the provider promises one', { iss: null }, 'does not come from this provider'],
  [
    'a refusal',
    { code: null, error: 'access_denied', error_description: '<b>no</b>' },
    'access_denied (&#60;b&#62;no&#60;/b&#62;)',
  ],
])('refuses a callback with %s', async (_what, query, told) => {
  const answer = await logIn(await open(), (claims, { sign }) => sign(claims), query);
  expect([answer.hasSession, answer.told]).toEqual([false, expect.stringContaining(told)]);
});

test.each<[what: string, changed: Record<string, unknown>, check: string, told: string]>([
  ['another issuer', { issuer: 'https://other.example' }, 'issuer', 'calls itself https://other.example'],
  [
    'an authorization endpoint of script',
    { authorization_endpoint: 'javascript:alert(1)' },
    'endpoints',
    'not an https address',
  ],
  ['no token endpoint', { token_endpoint: undefined }, 'endpoints', 'names no token_endpoint'],
  [
    'symmetric algorithms alone',
    { id_token_signing_alg_values_supported: ['HS256'] },
    'algorithms',
    'HS256 only',
  ],
  ['PKCE without S256', { code_challenge_methods_supported: ['plain'] }, 'algorithms', 'PKCE with S256'],
  ['no keys', { jwks_uri: undefined }, 'keys', 'names no address of its keys'],
  ['a code that nobody gave', {}, 'client', 'does not refuse a code that does not exist'],
])('the test tells of %s', async (_what, changed, check, told) => {
  const { forger, send, admin } = await open();
  forger.describe(changed);
  const { passed, checks } = (await send('POST', `${PROVIDERS}/house/test`, { headers: admin })).json();
  expect(passed).toBe(false);
  expect(checks).toContainEqual({ check, outcome: 'failed', text: expect.stringContaining(told) });
});

test.each([
  ['http://127.0.0.1:1', [], 'is not a public address, and not in a network of SERVICE_PRIVATE_DESTINATIONS'],
  ['http://127.0.0.1:1', ['127.0.0.1'], 'The provider cannot be reached: ECONNREFUSED.'],
  ['https://nowhere.invalid', [], 'is unknown to DNS'],
] as const)(
  'the test of %s, with %j allowed, says why it cannot be reached',
  async (issuer, privateNetworks, told) => {
    if (!engine) throw new Error('no engine');
    const { addProvider, send, admin } = await createProviderScene(engine, {
      providers: { privateNetworks },
    });
    await addProvider({ issuer });
    const { checks } = (await send('POST', `${PROVIDERS}/house/test`, { headers: admin })).json();
    expect(checks).toEqual([{ check: 'discovery', outcome: 'failed', text: expect.stringContaining(told) }]);
    // Strangers learn nothing of the network.
    const begun = await send('POST', '/api/v1/auth/login/provider', { payload: { provider_id: 'house' } });
    expect([begun.statusCode, begun.json().detail]).toEqual([
      503,
      'House cannot be used now. Admins see why with the test of the provider.',
    ]);
  },
);

const EVENT = { 'http://schemas.openid.net/event/backchannel-logout': {} };
test.each<[what: string, change: Claims, ends: boolean]>([
  ['subject', {}, true],
  ['session', { sub: undefined, sid: 'session-1' }, true],
  ['a session of nobody', { sub: undefined, sid: 'session-2' }, false],
  ['another subject', { sub: 'bob-1' }, false],
  ['a nonce', { nonce: 'x' }, false],
  ['no event', { events: {} }, false],
  ['no jti', { jti: undefined }, false],
  ['nobody', { sub: undefined }, false],
  ['another audience', { aud: 'another' }, false],
  ['another issuer', { iss: 'https://evil.example' }, false],
  ['an old time of issue', { iat: 1 }, false],
])('a logout token that names %s', async (_what, change, ends) => {
  const scene = await open();
  const { forger, nowSeconds, send, whoIs } = scene;
  const { headers } = await logIn(scene, (claims, { sign }) => sign({ ...claims, sid: 'session-1' }));
  const claims = {
    ...{ iss: forger.issuer, aud: 'tidegate', sub: 'ada-1', jti: 'once', events: EVENT },
    ...{ iat: nowSeconds, exp: nowSeconds + 60, ...change },
  };
  const post = async (token: string) => {
    const payload = new URLSearchParams({ logout_token: token }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return (await send('POST', '/sign-in/house/logout', { payload, headers: type })).statusCode;
  };
  expect(await post(await forger.signStrangely(claims, 'known'))).toBe(400);
  const token = await forger.sign(claims);
  const status = await post(token);
  expect(await whoIs(headers)).toEqual(ends ? 401 : expect.objectContaining({ role: 'admin' }));
  if (!ends) return;
  expect(status).toBe(204);
  // Once.
  expect(await post(token)).toBe(400);
});
