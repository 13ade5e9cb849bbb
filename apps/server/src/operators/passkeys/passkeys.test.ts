import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { sealed } from '../../platform/db/row-seals.ts';
import { ENGINES } from '../../testing/engines.ts';
import { createFactorScene } from '../../testing/factor-scene.ts';
import { ADMIN } from '../../testing/operator-app.ts';
import { createAuthenticator, type Lies } from '../../testing/software-authenticator.ts';

const URL = '/api/v1/auth/passkeys';
const OPTIONS = `${URL}/options`;
const LOGIN = '/api/v1/auth/login/passkey';
const Begun = Type.Object({
  challenge_id: Type.String(),
  options: Type.Object({ challenge: Type.String() }),
});
const NO_WORDS = 'The passkey was not accepted.';

describe.each(ENGINES)('passkeys, on $name', (engine) => {
  async function open(options: Parameters<typeof createFactorScene>[1] = {}) {
    const scene = await createFactorScene(engine, options);
    const { headers } = await scene.logIn();
    const beginLogIn = () => scene.must('POST', `${LOGIN}/options`);
    return {
      ...scene,
      headers,
      beginLogIn,
      begin: () => scene.must('POST', OPTIONS, { headers }),
      /** Status, code and detail of a login with this answer of an authenticator. */
      async logInBy(payload: object): Promise<string> {
        const answer = await scene.send('POST', LOGIN, { payload });
        if (answer.statusCode === 200) return '200';
        return `${answer.statusCode} ${answer.json().code}: ${answer.json().detail}`;
      },
    };
  }

  test('the options ask for a discoverable passkey with user verification, and no more', async () => {
    const { begin } = await open();
    expect(await begin()).toEqual({
      challenge_id: expect.any(String),
      options: expect.objectContaining({
        rp: { id: 'localhost', name: 'Tidegate' },
        user: { id: expect.any(String), name: 'root', displayName: 'root' },
        challenge: expect.stringMatching(/^[\w-]{43}$/),
        attestation: 'none',
        timeout: 300_000,
        excludeCredentials: [],
        authenticatorSelection: expect.objectContaining({
          residentKey: 'required',
          userVerification: 'required',
        }),
      }),
    });
  });

  test.each(['p-256', 'ed25519'] as const)(
    'a passkey (%s) is added with recovery codes, and logs in by itself, without a name',
    async (algorithm) => {
      const { headers, addPasskey, beginLogIn, send, logInBy, eventsOf } = await open();
      const authenticator = createAuthenticator({ algorithm });
      const { id, recoveryCodes } = await addPasskey(headers, authenticator, 'Mein Schlüssel 🗝');
      expect(recoveryCodes).toHaveLength(10);
      const list = await send('GET', URL, { headers });
      const passkey = { id, name: 'Mein Schlüssel 🗝', created_at: expect.any(String) };
      expect(list.json()).toEqual({
        items: [{ ...passkey, last_used_at: null, backed_up: false }],
        next_cursor: null,
        total: 1,
      });
      const begun = await beginLogIn();
      expect(begun).toMatchObject({ options: { allowCredentials: [], userVerification: 'required' } });
      const answer = await send('POST', LOGIN, { payload: authenticator.get(begun) });
      expect([answer.statusCode, answer.json().operator.username]).toEqual([200, 'root']);
      expect([answer.headers['set-cookie']].flat()).toHaveLength(3);
      const session = { headers: { authorization: `Bearer ${answer.json().token}` } };
      expect((await send('GET', '/api/v1/auth/session', session)).json()).toMatchObject({
        factors: { totp: false, passkeys: 1, recovery_codes_left: 10 },
        stepped_up_until: expect.any(String),
      });
      expect((await eventsOf('LOGIN_SUCCEEDED'))[0]).toMatchObject({ method: 'passkey', username: 'root' });
      expect((await send('GET', URL, session)).json().items[0].last_used_at).toEqual(expect.any(String));
      expect(await eventsOf('FACTOR_ADDED')).toMatchObject([{ factor: 'passkey', passkey_id: id }]);
      expect(await logInBy(authenticator.get(await beginLogIn()))).toBe('200');
    },
  );

  test('after the password, a passkey answers the challenge that came with the refusal', async () => {
    const { headers, addPasskey, send, logInBy, eventsOf, tryLogIn } = await open();
    const { authenticator, recoveryCodes } = await addPasskey(headers);
    const asked = await send('POST', '/api/v1/auth/login', { payload: ADMIN });
    expect([asked.statusCode, asked.json().code]).toEqual([401, 'second_factor_required']);
    expect(asked.json().methods).toEqual(['passkey', 'recovery_code']);
    expect(asked.headers).not.toHaveProperty('set-cookie');
    const { passkey } = asked.json();
    expect(passkey.options.allowCredentials).toHaveLength(1);
    expect(await logInBy(authenticator.get(passkey))).toBe('200');
    expect((await eventsOf('LOGIN_SUCCEEDED'))[0]).toMatchObject({ method: 'password+passkey' });
    expect(await tryLogIn({ recovery_code: recoveryCodes?.[0] })).toBe('200');
    expect(await tryLogIn({ totp: '000000' })).toBe('401 second_factor_required');
  });

  test('one operator’s second step does not work for another, and ends with a new password', async () => {
    const { headers, addPasskey, addOperator, logInWith, send, logInBy } = await open();
    const own = await addPasskey(headers);
    const eve = await addOperator(headers, 'eve');
    const hers = await addPasskey(await logInWith({}, eve.credentials));
    const continued = async () =>
      (await send('POST', '/api/v1/auth/login', { payload: ADMIN })).json().passkey;
    expect(await logInBy(hers.authenticator.get(await continued()))).toContain(NO_WORDS);
    const begun = await continued();
    const payload = { current_password: ADMIN.password, new_password: 'a new long password' };
    expect((await send('POST', '/api/v1/auth/password', { headers, payload })).statusCode).toBe(204);
    expect(await logInBy(own.authenticator.get(begun))).toContain('longer than five minutes');
  });

  const refusedLogins: [string, Lies, string][] = [
    ['another origin', { origin: 'https://evil.example' }, 'used at another address'],
    ['another port', { origin: 'http://localhost:81' }, 'used at another address'],
    ['another RP id', { rpId: 'evil.example' }, NO_WORDS],
    ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }, NO_WORDS],
    ['another act', { type: 'webauthn.create' }, NO_WORDS],
    ['a page within another site', { crossOrigin: true }, NO_WORDS],
    ['no verified user', { isUserVerified: false }, NO_WORDS],
    ['nobody there', { isUserPresent: false }, NO_WORDS],
    ['the signature of another key', { isForged: true }, NO_WORDS],
    ['a signature of nobody', { signature: Buffer.alloc(70, 48) }, NO_WORDS],
    ['an unknown credential', { credentialId: 'AAAA' }, NO_WORDS],
    ['the name of another operator', { userHandle: 'AAAA' }, NO_WORDS],
  ];
  test.each(refusedLogins)('a login with %s is refused', async (_what, lies, words) => {
    const { headers, addPasskey, beginLogIn, logInBy, eventsOf } = await open();
    const { authenticator } = await addPasskey(headers);
    const outcome = await logInBy(authenticator.get(await beginLogIn(), lies));
    expect(outcome).toMatch(/^401 unauthenticated: /);
    expect(outcome).toContain(words);
    expect(await eventsOf('LOGIN_FAILED')).toMatchObject([{ stage: 'passkey' }]);
    expect(await logInBy(authenticator.get(await beginLogIn()))).toBe('200');
  });

  const refusedPasskeys: [string, Lies][] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['another RP id', { rpId: 'evil.example' }],
    ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
    ['another act', { type: 'webauthn.get' }],
    ['a page within another site', { crossOrigin: true }],
    ['no verified user', { isUserVerified: false }],
    ['nobody there', { isUserPresent: false }],
    ['an unknown statement', { attestation: { format: 'other', statement: new Map() } }],
    [
      'attestation certificates, which would need lookups',
      { attestation: { format: 'packed', statement: new Map([['x5c', []]]) } },
    ],
  ];
  test.each(refusedPasskeys)('a new passkey with %s is refused', async (_what, lies) => {
    const { headers, begin, send } = await open();
    const payload = { ...createAuthenticator().create(await begin(), lies), name: 'x' };
    const answer = await send('POST', URL, { headers, payload });
    expect([answer.statusCode, answer.json().errors?.[0].path]).toEqual([400, '/credential']);
    expect((await send('GET', URL, { headers })).json().total).toBe(0);
  });

  test('a challenge is answered once, also by two at once, and a wrong answer uses it up', async () => {
    const { headers, addPasskey, beginLogIn, logInBy } = await open();
    const { authenticator } = await addPasskey(headers);
    const begun = await beginLogIn();
    const answers = [authenticator.get(begun), authenticator.get(begun)];
    const outcomes = await Promise.all(answers.map(logInBy));
    expect(outcomes.filter((outcome) => outcome === '200')).toHaveLength(1);
    expect(await logInBy(authenticator.get(begun))).toContain('already answered');
    const another = await beginLogIn();
    expect(await logInBy(authenticator.get(another, { isUserVerified: false }))).toContain(NO_WORDS);
    expect(await logInBy(authenticator.get(another))).toContain('already answered');
  });

  test('a challenge lives for five minutes', async () => {
    const { headers, addPasskey, beginLogIn, logInBy, clock } = await open();
    const { authenticator } = await addPasskey(headers);
    const [first, second] = [await beginLogIn(), await beginLogIn()];
    clock.advance(299_999);
    expect(await logInBy(authenticator.get(first))).toBe('200');
    clock.advance(1);
    expect(await logInBy(authenticator.get(second))).toContain('longer than five minutes');
  });

  test('a challenge works only for its act, session and operator', async () => {
    const { headers, addPasskey, addOperator, logInWith, beginLogIn, begin, send, logInBy, must } =
      await open();
    const { authenticator } = await addPasskey(headers);
    // A login challenge cannot step up, nor a step-up challenge log in.
    const stepUp = await must('POST', '/api/v1/auth/step-up/options', { headers });
    expect(await logInBy(authenticator.get(stepUp))).toContain('already answered');
    const payload = authenticator.get(await beginLogIn());
    expect((await send('POST', '/api/v1/auth/step-up', { headers, payload })).statusCode).toBe(403);
    // A challenge for a new passkey cannot step up either.
    const added = await must('POST', OPTIONS, { headers });
    const { challenge_id, options } = Value.Parse(Begun, added);
    const asked = authenticator.get({ challenge_id, options: { ...options, rpId: 'localhost' } });
    expect((await send('POST', '/api/v1/auth/step-up', { headers, payload: asked })).statusCode).toBe(403);
    // A challenge of one session works in no other, whoever owns it.
    const eve = await logInWith({}, (await addOperator(headers, 'eve')).credentials);
    const made = { ...createAuthenticator().create(await begin()), name: 'x' };
    expect((await send('POST', URL, { headers: eve, payload: made })).statusCode).toBe(400);
    expect((await send('GET', URL, { headers: eve })).json().total).toBe(0);
    // The attempt from the wrong session did not use it up.
    expect((await send('POST', URL, { headers, payload: made })).statusCode).toBe(201);
  });

  test('a count that does not rise means a copied authenticator: refused, with an event', async () => {
    const { headers, addPasskey, beginLogIn, logInBy, eventsOf } = await open();
    const { authenticator, id } = await addPasskey(headers);
    expect(await logInBy(authenticator.get(await beginLogIn(), { count: 7 }))).toBe('200');
    for (const count of [7, 6, 0]) {
      expect(await logInBy(authenticator.get(await beginLogIn(), { count }))).toContain(NO_WORDS);
    }
    const said = { passkey_id: id, recorded_count: 7, presented_count: 6, name: 'laptop' };
    expect(await eventsOf('PASSKEY_CLONE_SUSPECTED')).toMatchObject([{}, said, {}]);
    // Without the key nobody can raise that alarm.
    const forged = authenticator.get(await beginLogIn(), { count: 1, signature: Buffer.alloc(70, 48) });
    expect(await logInBy(forged)).toContain(NO_WORDS);
    expect(await eventsOf('PASSKEY_CLONE_SUSPECTED')).toHaveLength(3);
    expect(await logInBy(authenticator.get(await beginLogIn(), { count: 8 }))).toBe('200');
  });

  test('an authenticator that never counts is accepted', async () => {
    const { headers, addPasskey, beginLogIn, logInBy } = await open();
    const { authenticator } = await addPasskey(headers, createAuthenticator({ counts: false }));
    for (let i = 0; i < 3; i++) expect(await logInBy(authenticator.get(await beginLogIn()))).toBe('200');
  });

  test('the passkey of a disabled, deleted or reset operator opens nothing, with the same answer as an unknown one', async () => {
    const { headers, addPasskey, addOperator, logInWith, beginLogIn, logInBy, must } = await open();
    const eve = await addOperator(headers, 'eve');
    const { authenticator } = await addPasskey(await logInWith({}, eve.credentials));
    const url = `/api/v1/admin/operators/${eve.id}`;
    const logsIn = async () => logInBy(authenticator.get(await beginLogIn()));
    expect(await logsIn()).toBe('200');
    await must('PATCH', url, { headers, payload: { disabled: true } });
    expect(await logsIn()).toContain(NO_WORDS);
    await must('PATCH', url, { headers, payload: { disabled: false } });
    expect(await logsIn()).toBe('200');
    await must('DELETE', `${url}/factors`, { headers });
    expect(await logsIn()).toContain(NO_WORDS);
    await must('DELETE', url, { headers });
    expect(await logsIn()).toContain(NO_WORDS);
  });

  test('a passkey is renamed and removed only by its operator, and a credential is stored once', async () => {
    const { headers, addPasskey, addOperator, logInWith, send, begin, beginLogIn, logInBy } = await open();
    const { authenticator, id } = await addPasskey(headers);
    const eve = await logInWith({}, (await addOperator(headers, 'eve')).credentials);
    const one = `${URL}/${id}`;
    const payload = { name: 'desk' };
    expect((await send('PATCH', one, { headers: eve, payload })).statusCode).toBe(404);
    expect((await send('DELETE', one, { headers: eve })).statusCode).toBe(404);
    expect((await send('PATCH', one, { headers, payload })).json()).toMatchObject({ id, name: 'desk' });
    const begun = await begin();
    expect(begun).toMatchObject({ options: { excludeCredentials: [{ type: 'public-key' }] } });
    const twice = await send('POST', URL, {
      headers,
      payload: { ...authenticator.create(begun), name: 'again' },
    });
    expect([twice.statusCode, twice.json().code]).toEqual([409, 'conflict']);
    expect((await send('DELETE', one, { headers })).statusCode).toBe(204);
    expect(await logInBy(authenticator.get(await beginLogIn()))).toContain(NO_WORDS);
  });

  test('an operator has at most twenty passkeys', async () => {
    const { headers, addPasskey, send } = await open();
    for (let i = 0; i < 20; i++) await addPasskey(headers);
    const answer = await send('POST', OPTIONS, { headers });
    expect([answer.statusCode, answer.json().code]).toEqual([409, 'conflict']);
  });

  test('open challenges are bounded: the newest five per operator, ten thousand in total', async () => {
    const { headers, addPasskey, beginLogIn, send, logInBy, database, clock } = await open();
    const { authenticator } = await addPasskey(headers);
    const begun = [];
    for (let i = 0; i < 6; i++) {
      const asked = await send('POST', '/api/v1/auth/login', { payload: ADMIN });
      begun.push(asked.json().passkey);
      clock.advance(1);
    }
    expect(await logInBy(authenticator.get(begun[0]))).toContain('already answered');
    expect(await logInBy(authenticator.get(begun[1]))).toBe('200');
    const template = await database.read
      .selectFrom('passkey_challenges')
      .selectAll()
      .executeTakeFirstOrThrow();
    const rows = Array.from({ length: 500 }, (_, i) => ({ ...template, operator_id: null, id: `x${i}` }));
    for (let page = 0; page < 20; page++) {
      await database.transact((tx) => {
        const values = rows.map((row) =>
          sealed(tx, 'passkey_challenges', { ...row, id: `${row.id}-${page}` }),
        );
        return tx.insertInto('passkey_challenges').values(values).execute();
      });
    }
    const full = await send('POST', `${LOGIN}/options`);
    expect([full.statusCode, full.headers['retry-after']]).toEqual([503, '60']);
    clock.advance(300_000);
    expect(await logInBy(authenticator.get(await beginLogIn()))).toBe('200');
    expect(await database.read.selectFrom('passkey_challenges').selectAll().execute()).toEqual([]);
  });
});

const [engine] = ENGINES.slice(0, 1);
if (!engine) throw new Error('no engine');

describe('where passkeys work', () => {
  const OK = '200';
  test.each([
    ['localhost', undefined, OK, 'localhost', 'http://localhost'],
    ['localhost:8080', undefined, OK, 'localhost', 'http://localhost:8080'],
    ['tidegate.localhost:8080', undefined, OK, 'tidegate.localhost', 'http://tidegate.localhost:8080'],
    ['fleet.example', undefined, '409 conflict', null, null],
    ['127.0.0.1:8080', undefined, '409 conflict', null, null],
    ['[::1]:8080', undefined, '409 conflict', null, null],
    ['inner:8080', 'https://fleet.example', OK, 'fleet.example', 'https://fleet.example'],
    ['inner:8080', 'https://fleet.example:8443/path', OK, 'fleet.example', 'https://fleet.example:8443'],
    ['inner:8080', 'http://fleet.example', '409 conflict', null, null],
    ['inner:8080', 'https://192.0.2.7', '409 conflict', null, null],
  ])('a request to %s with SERVICE_BASE_URL %s: %s', async (host, baseUrl, expected, rpId, origin) => {
    const scene = await createFactorScene(engine, baseUrl === undefined ? {} : { baseUrl });
    const { headers } = await scene.logIn();
    const begun = await scene.send('POST', OPTIONS, { headers: { ...headers, host } });
    const outcome = begun.statusCode === 200 ? OK : `${begun.statusCode} ${begun.json().code}`;
    expect([outcome, begun.json().options?.rp.id ?? null]).toEqual([expected, rpId]);
    if (origin === null) {
      expect(begun.json().detail).toContain('SERVICE_BASE_URL');
      expect(await scene.tryLogIn()).toBe('200');
      return;
    }
    const payload = { ...createAuthenticator({ origin }).create(begun.json()), name: 'x' };
    const added = await scene.send('POST', URL, { headers: { ...headers, host }, payload });
    expect(added.statusCode).toBe(201);
  });

  test('a challenge opened under one name of the server cannot be answered under another', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const { authenticator } = await scene.addPasskey(headers);
    const begun = await scene.must('POST', `${LOGIN}/options`);
    const moved = await scene.send('POST', LOGIN, {
      payload: authenticator.get(begun),
      headers: { host: 'other.localhost' },
    });
    expect([moved.statusCode, moved.json().detail]).toEqual([
      401,
      expect.stringContaining('another address'),
    ]);
    // A passkey of one name does not log in under another, whatever its signature.
    const there = { host: 'other.localhost' };
    const elsewhere = await scene.must('POST', `${LOGIN}/options`, { headers: there });
    const forged = authenticator.get(elsewhere, { origin: 'http://other.localhost' });
    const refused = await scene.send('POST', LOGIN, { payload: forged, headers: there });
    expect([refused.statusCode, refused.json().detail]).toEqual([401, NO_WORDS]);
  });

  test('another site can neither begin nor finish a login by passkey', async () => {
    const scene = await createFactorScene(engine);
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await scene.send('POST', `${LOGIN}/options`, { headers })).statusCode).toBe(403);
    const payload = createAuthenticator().get(await scene.must('POST', `${LOGIN}/options`));
    expect((await scene.send('POST', LOGIN, { headers, payload })).statusCode).toBe(403);
  });
});
