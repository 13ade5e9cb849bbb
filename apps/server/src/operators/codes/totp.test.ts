import { Secret, TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { sealed } from '../../platform/db/row-seals.ts';
import { ENGINES } from '../../testing/engines.ts';
import { createFactorScene } from '../../testing/factor-scene.ts';
import { ADMIN } from '../../testing/operator-app.ts';

const TOTP_URL = '/api/v1/auth/totp';
const CONFIRM = `${TOTP_URL}/confirm`;
const LOGIN = '/api/v1/auth/login';
const ASKED = '401 second_factor_required';

describe.each(ENGINES)('authenticator apps, on $name', (engine) => {
  test('a secret is shown once, as text and as a URI of RFC 6238, and has no effect until a code confirms it', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const begun = await scene.send('POST', TOTP_URL, { headers });
    expect(begun.json()).toEqual({
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      otpauth_uri: `otpauth://totp/Tidegate:root?issuer=Tidegate&secret=${begun.json().secret}&algorithm=SHA1&digits=6&period=30`,
    });
    expect(begun.headers['cache-control']).toBe('no-store');
    expect(await scene.tryLogIn()).toBe('200');
    const totp = new TOTP({ secret: Secret.fromBase32(begun.json().secret) });
    const code = totp.generate({ timestamp: scene.clock.now() });
    const wrong = `${(Number(code) + 1) % 1_000_000}`.padStart(6, '0');
    const refused = await scene.send('POST', CONFIRM, { headers, payload: { code: wrong } });
    expect([refused.statusCode, refused.json().errors[0].path]).toEqual([400, '/code']);
    const confirmed = await scene.send('POST', CONFIRM, { headers, payload: { code } });
    expect(confirmed.statusCode).toBe(200);
    const codes: string[] = confirmed.json().recovery_codes;
    expect(new Set(codes).size).toBe(10);
    for (const one of codes) expect(one).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/);
    expect(await scene.tryLogIn()).toBe(ASKED);
    expect(await scene.eventsOf('FACTOR_ADDED')).toMatchObject([{ username: 'root', factor: 'totp' }]);
    const again = await scene.send('POST', CONFIRM, { headers, payload: { code } });
    expect([again.statusCode, again.json().code]).toEqual([409, 'conflict']);
    expect((await scene.send('POST', TOTP_URL, { headers })).statusCode).toBe(409);
  });

  test('an unconfirmed secret lives fifteen minutes, and a new request replaces it', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const first = (await scene.send('POST', TOTP_URL, { headers })).json().secret;
    const second = (await scene.send('POST', TOTP_URL, { headers })).json().secret;
    expect(second).not.toBe(first);
    const codeOf = (secret: string) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: scene.clock.now() });
    const confirm = async (secret: string) =>
      (await scene.send('POST', CONFIRM, { headers, payload: { code: codeOf(secret) } })).statusCode;
    expect(await confirm(first)).toBe(400);
    scene.clock.advance(900_001);
    const payload = { password: ADMIN.password };
    await scene.must('POST', '/api/v1/auth/step-up', { headers, payload });
    expect(await confirm(second)).toBe(409);
    const third = (await scene.send('POST', TOTP_URL, { headers })).json().secret;
    expect(await confirm(third)).toBe(200);
  });

  test('with an app the password alone opens nothing: the answer says what is missing and carries no session', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    const asked = await scene.send('POST', LOGIN, { payload: ADMIN });
    expect(asked.statusCode).toBe(401);
    expect(asked.json()).toEqual({
      ...{ type: 'about:blank', title: 'Unauthorized', status: 401, code: 'second_factor_required' },
      ...{ detail: expect.any(String), request_id: expect.any(String), methods: ['totp', 'recovery_code'] },
    });
    expect(asked.headers).not.toHaveProperty('set-cookie');
    expect(await scene.eventsOf('SECOND_FACTOR_ASKED')).toMatchObject([{ username: 'root' }]);
    expect(await scene.tryLogIn({}, { ...ADMIN, password: 'not the password' })).toBe('401 unauthenticated');
    expect(await scene.tryLogIn({ totp: app.code() }, { ...ADMIN, password: 'not it' })).toBe(
      '401 unauthenticated',
    );
    expect(await scene.tryLogIn({ totp: app.code() })).toBe('200');
    expect((await scene.eventsOf('LOGIN_SUCCEEDED'))[0]).toMatchObject({ method: 'password+totp' });
    // When both are sent, the recovery code is not used up, whether or not the app's code is right.
    const both = { totp: app.code(), recovery_code: app.recoveryCodes[0] };
    expect(await scene.tryLogIn(both)).toBe(ASKED);
    scene.clock.advance(30_000);
    expect(await scene.tryLogIn({ ...both, totp: app.code() })).toBe('200');
    expect(await scene.eventsOf('RECOVERY_CODE_USED')).toEqual([]);
  });

  test('an unneeded code is not checked', async () => {
    const scene = await createFactorScene(engine);
    expect(await scene.tryLogIn({ totp: '000000' })).toBe('200');
  });

  test('a code works once, even when sent twice at once', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    const totp = app.code();
    const outcomes = await Promise.all([1, 2, 3].map(() => scene.tryLogIn({ totp })));
    expect(outcomes.toSorted()).toEqual(['200', ASKED, ASKED]);
    expect(await scene.tryLogIn({ totp })).toBe(ASKED);
    scene.clock.advance(30_000);
    expect(await scene.tryLogIn({ totp })).toBe(ASKED);
    expect(await scene.tryLogIn({ totp: app.code() })).toBe('200');
    expect((await scene.eventsOf('LOGIN_FAILED'))[0]).toMatchObject({ stage: 'second_factor' });
  });

  test('the code that turned the app on is used up too', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    expect(await scene.tryLogIn({ totp: app.code(-1) })).toBe(ASKED);
  });

  test.each([
    [-2, ASKED],
    [-1, '200'],
    [0, '200'],
    [1, '200'],
    [2, ASKED],
  ])('RFC 6238, 5.2: a code of the step %d from now: %s', async (steps, expected) => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    scene.clock.advance(90_000);
    expect(await scene.tryLogIn({ totp: app.code(steps) })).toBe(expected);
  });

  test('after a code of the next step, codes of the present one are refused', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    expect(await scene.tryLogIn({ totp: app.code(1) })).toBe('200');
    expect(await scene.tryLogIn({ totp: app.code(0) })).toBe(ASKED);
  });

  test('guesses are limited apart from the login limit: after five, the wait doubles with each', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => scene.tryLogIn({ totp: `${900_000 + i}` })),
    );
    expect(guesses.filter((outcome) => outcome === ASKED)).toHaveLength(5);
    expect(guesses.filter((outcome) => outcome === '429 rate_limited')).toHaveLength(25);
    const blocked = await scene.send('POST', LOGIN, { payload: { ...ADMIN, totp: app.code() } });
    expect([blocked.statusCode, blocked.headers['retry-after']]).toEqual([429, '30']);
    expect(blocked.json().methods).toEqual(['totp', 'recovery_code']);
    scene.clock.advance(30_000);
    expect(await scene.tryLogIn({ totp: '900000' })).toBe(ASKED);
    scene.clock.advance(59_000);
    expect(await scene.tryLogIn({ totp: app.code() })).toBe('429 rate_limited');
    // The owner, who lost the app or whose account is attacked, is not locked out.
    expect(await scene.tryLogIn({ recovery_code: app.recoveryCodes[0] })).toBe('200');
    scene.clock.advance(1_000);
    expect(await scene.tryLogIn({ totp: app.code() })).toBe('200');
  });

  test('wrong codes count against the limits of logins, by name and by address', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    await scene.enrolTotp(headers);
    await scene.rateLimits.reset('test');
    scene.clock.advance(60_000);
    const outcomes = [];
    // One after the other: of simultaneous passwords from one address only five are checked.
    for (let n = 0; n < 15; n++) {
      outcomes.push(await scene.send('POST', LOGIN, { payload: { ...ADMIN, totp: '900000' } }));
    }
    expect(outcomes.filter(({ headers: sent }) => 'x-ratelimit-limit' in sent)).not.toHaveLength(0);
    expect(outcomes.filter(({ statusCode }) => statusCode === 401)).toHaveLength(5);
    expect(await scene.eventsOf('LOGIN_FAILED')).toHaveLength(10);
  });

  test('a recovery code works once, in any spelling, and leaves an event that says how many are left', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const { recoveryCodes } = await scene.enrolTotp(headers);
    const [first = '', second = ''] = recoveryCodes;
    const spelt = first.toUpperCase().replaceAll('-', ' ');
    const outcomes = await Promise.all([spelt, first].map((code) => scene.tryLogIn({ recovery_code: code })));
    expect(outcomes.toSorted()).toEqual(['200', ASKED]);
    expect(await scene.eventsOf('RECOVERY_CODE_USED')).toMatchObject([{ username: 'root', left: 9 }]);
    expect(await scene.tryLogIn({ recovery_code: second })).toBe('200');
    expect(await scene.tryLogIn({ recovery_code: 'abcd-abcd-abcd-abcd' })).toBe(ASKED);
    const session = await scene.send('GET', '/api/v1/auth/session', { headers });
    expect(session.json().factors).toEqual({ totp: true, passkeys: 0, recovery_codes_left: 8 });
  });

  test('new recovery codes end the old ones, and need a second factor', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const url = '/api/v1/auth/recovery-codes';
    expect((await scene.send('POST', url, { headers })).statusCode).toBe(409);
    const app = await scene.enrolTotp(headers);
    const renewed = await scene.send('POST', url, { headers });
    expect(renewed.statusCode).toBe(201);
    expect(await scene.tryLogIn({ recovery_code: app.recoveryCodes[0] })).toBe(ASKED);
    expect(await scene.tryLogIn({ recovery_code: renewed.json().recovery_codes[0] })).toBe('200');
    expect(await scene.eventsOf('FACTOR_ADDED')).toMatchObject([{ factor: 'recovery_codes' }, {}]);
  });

  test('removing the app removes the recovery codes too, and the password alone logs in again', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    expect((await scene.send('DELETE', TOTP_URL, { headers })).statusCode).toBe(204);
    expect((await scene.send('DELETE', TOTP_URL, { headers })).statusCode).toBe(404);
    expect(await scene.tryLogIn()).toBe('200');
    expect(await scene.eventsOf('FACTOR_REMOVED')).toMatchObject([{ username: 'root', factor: 'totp' }]);
    expect(await scene.database.read.selectFrom('operator_recovery_codes').selectAll().execute()).toEqual([]);
    expect(app.recoveryCodes).toHaveLength(10);
  });

  test('neither the secret nor a code is in the database or the log, and another key opens nothing', async () => {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const app = await scene.enrolTotp(headers);
    const { read } = scene.database;
    const row = await read.selectFrom('operator_totp').selectAll().executeTakeFirstOrThrow();
    const codes = await read.selectFrom('operator_recovery_codes').selectAll().execute();
    const events = await read.selectFrom('events').selectAll().execute();
    const kept = JSON.stringify([row, codes, events, scene.platform.lines]);
    const secret = Buffer.from(Secret.fromBase32(app.secret).bytes);
    for (const form of [
      app.secret,
      secret.toString('hex'),
      secret.toString('base64url'),
      ...app.recoveryCodes,
    ]) {
      expect(kept).not.toContain(form);
      expect(kept).not.toContain(form.replaceAll('-', ''));
    }
    // It does not open in another operator's row, or with one letter changed.
    const { sealed_secret: text } = row;
    const changed = `${text.slice(0, -4)}${text.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
    await scene.database.transact((tx) => {
      const { sealed_secret, seal } = sealed(tx, 'operator_totp', { ...row, sealed_secret: changed });
      return tx.updateTable('operator_totp').set({ sealed_secret, seal }).execute();
    });
    expect(await scene.tryLogIn({ totp: app.code() })).toBe(ASKED);
    expect(scene.platform.lines.join('\n')).toContain('a second factor was sealed with another token secret');
  });
});
