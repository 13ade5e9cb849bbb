import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createFactorScene } from '../testing/factor-scene.ts';
import { ADMIN } from '../testing/operator-app.ts';
import { createAuthenticator } from '../testing/software-authenticator.ts';

const STEP_UP = '/api/v1/auth/step-up';
const SESSION = '/api/v1/auth/session';
const ASKED = '403 step_up_required';

describe.each(ENGINES)('stepping up, on $name', (engine) => {
  async function open() {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    type Headers = typeof headers;
    const outcome = async (method: 'POST' | 'PUT' | 'DELETE', url: string, rest: object) => {
      const answer = await scene.send(method, url, rest);
      return answer.statusCode < 300 ? 'done' : `${answer.statusCode} ${answer.json().code}`;
    };
    return {
      ...scene,
      headers,
      /** An act that requires a fresh second factor. */
      act: (by: Headers = headers) => outcome('POST', '/api/v1/admin/rate-limits/reset', { headers: by }),
      stepUp: (payload: object, by: Headers = headers) => outcome('POST', STEP_UP, { headers: by, payload }),
      outcome,
    };
  }

  test('without a second factor, the password must be at most five minutes old', async () => {
    const { act, stepUp, clock, send, headers, eventsOf } = await open();
    clock.advance(300_000);
    expect(await act()).toBe('done');
    clock.advance(1);
    expect(await act()).toBe(ASKED);
    expect((await send('GET', SESSION, { headers })).json().stepped_up_until).toBeNull();
    expect(await stepUp({ totp: '000000' })).toBe('409 conflict');
    expect(await stepUp({ password: 'not the password' })).toBe(ASKED);
    expect(await act()).toBe(ASKED);
    const until = new Date(clock.now() + 300_000).toISOString();
    const answer = await send('POST', STEP_UP, { headers, payload: { password: ADMIN.password } });
    expect([answer.statusCode, answer.json()]).toEqual([200, { stepped_up_until: until }]);
    expect((await send('GET', SESSION, { headers })).json().stepped_up_until).toBe(until);
    expect(await act()).toBe('done');
    expect(await eventsOf('STEP_UP_FAILED')).toMatchObject([{ method: 'password', username: 'root' }]);
  });

  test('the password does not replace an enrolled factor', async () => {
    const { headers, act, stepUp, enrolTotp, clock } = await open();
    await enrolTotp(headers);
    clock.advance(600_000);
    expect(await stepUp({ password: ADMIN.password })).toBe('done');
    expect(await act()).toBe(ASKED);
  });

  test('a proof counts for ten minutes; then the refusal lists the methods', async () => {
    const { headers, act, stepUp, enrolTotp, clock, send } = await open();
    const app = await enrolTotp(headers);
    expect(await act()).toBe('done');
    clock.advance(600_000);
    const asked = await send('POST', '/api/v1/admin/rate-limits/reset', { headers });
    expect(asked.statusCode).toBe(403);
    expect(asked.json()).toMatchObject({ code: 'step_up_required', methods: ['totp', 'recovery_code'] });
    expect((await send('GET', SESSION, { headers })).json().stepped_up_until).toBeNull();
    const until = new Date(clock.now() + 600_000).toISOString();
    const answer = await send('POST', STEP_UP, { headers, payload: { totp: app.code() } });
    expect([answer.statusCode, answer.json()]).toEqual([200, { stepped_up_until: until }]);
    expect((await send('GET', SESSION, { headers })).json().stepped_up_until).toBe(until);
    clock.advance(600_000);
    expect(await act()).toBe('done');
    clock.advance(1);
    expect(await act()).toBe(ASKED);
    expect(await stepUp({ totp: app.code() })).toBe('done');
    expect(await act()).toBe('done');
  });

  test('reads and unlisted acts need no step-up', async () => {
    const { headers, enrolTotp, clock, send } = await open();
    await enrolTotp(headers);
    clock.advance(700_000);
    for (const url of [SESSION, '/api/v1/admin/rate-limits', '/api/v1/admin/operators']) {
      expect((await send('GET', url, { headers })).statusCode).toBe(200);
    }
    expect((await send('POST', '/api/v1/auth/logout', { headers })).statusCode).toBe(204);
  });

  test('a proof counts only in its session; a session that began without one has none', async () => {
    const { headers, act, stepUp, enrolTotp, logInWith, clock } = await open();
    const app = await enrolTotp(headers);
    const other = await logInWith({ totp: app.code() });
    // A login with a second factor is a fresh proof.
    expect(await act(other)).toBe('done');
    clock.advance(600_001);
    expect([await act(headers), await act(other)]).toEqual([ASKED, ASKED]);
    expect(await stepUp({ totp: app.code() }, other)).toBe('done');
    expect([await act(headers), await act(other)]).toEqual([ASKED, 'done']);
    // The code was used up by the other session.
    expect(await stepUp({ totp: app.code() })).toBe(ASKED);
  });

  test('a recovery code is a proof, once', async () => {
    const { headers, act, stepUp, enrolTotp, clock, eventsOf } = await open();
    const app = await enrolTotp(headers);
    clock.advance(600_000);
    const payload = { recovery_code: app.recoveryCodes[3] };
    expect(await stepUp(payload)).toBe('done');
    expect(await act()).toBe('done');
    clock.advance(600_001);
    expect(await stepUp(payload)).toBe(ASKED);
    expect(await eventsOf('RECOVERY_CODE_USED')).toHaveLength(1);
    expect(await eventsOf('STEP_UP_SUCCEEDED')).toMatchObject([
      { method: 'recovery_code', username: 'root' },
    ]);
    expect(await eventsOf('STEP_UP_FAILED')).toMatchObject([{ method: 'recovery_code', username: 'root' }]);
  });

  test('a passkey is a proof, in the session that began it', async () => {
    const { headers, act, stepUp, addPasskey, must, logInWith, clock, eventsOf } = await open();
    const { authenticator, recoveryCodes } = await addPasskey(headers);
    clock.advance(600_001);
    expect(await act()).toBe(ASKED);
    const begin = () => must('POST', `${STEP_UP}/options`, { headers });
    const other = await logInWith({ recovery_code: recoveryCodes?.[0] });
    const begun = await begin();
    expect(await stepUp(authenticator.get(begun), other)).toBe(ASKED);
    expect(await stepUp(authenticator.get(begun, { isUserVerified: false }))).toBe(ASKED);
    expect(await stepUp(authenticator.get(begun))).toBe(ASKED);
    expect(await stepUp(createAuthenticator().get(await begin()))).toBe(ASKED);
    expect(await stepUp(authenticator.get(await begin(), { count: 0 }))).toBe(ASKED);
    expect(await eventsOf('PASSKEY_CLONE_SUSPECTED')).toHaveLength(1);
    expect(await eventsOf('STEP_UP_FAILED')).toHaveLength(5);
    expect(await act()).toBe(ASKED);
    expect(await stepUp(authenticator.get(await begin()))).toBe('done');
    expect(await act()).toBe('done');
  });

  test('the passkey of another operator is no proof', async () => {
    const { headers, stepUp, addPasskey, addOperator, logInWith, must, clock } = await open();
    await addPasskey(headers);
    const eve = await logInWith({}, (await addOperator(headers, 'eve')).credentials);
    const hers = await addPasskey(eve);
    clock.advance(600_001);
    const begun = await must('POST', `${STEP_UP}/options`, { headers });
    expect(await stepUp(hers.authenticator.get(begun))).toBe(ASKED);
  });

  test('guesses in a session are limited: ten a minute, and by the app five, whichever comes first', async () => {
    const { headers, stepUp, enrolTotp, rateLimits, clock } = await open();
    const app = await enrolTotp(headers);
    await rateLimits.reset('test');
    clock.advance(60_000);
    const guesses = await Promise.all(Array.from({ length: 15 }, () => stepUp({ totp: '900000' })));
    expect(guesses.filter((outcome) => outcome === ASKED)).toHaveLength(5);
    expect(guesses.filter((outcome) => outcome === '429 rate_limited')).toHaveLength(10);
    expect(await stepUp({ recovery_code: app.recoveryCodes[0] })).toBe('429 rate_limited');
    clock.advance(60_000);
    expect(await stepUp({ recovery_code: app.recoveryCodes[0] })).toBe('done');
  });

  test('changing an enrolled second factor needs the password and a fresh proof', async () => {
    const { headers, outcome, stepUp, enrolTotp, addPasskey, clock } = await open();
    const app = await enrolTotp(headers);
    const { id } = await addPasskey(headers);
    clock.advance(600_001);
    const code = { code: '000000' };
    for (const [method, url, body] of [
      ['POST', '/api/v1/auth/totp', undefined],
      ['POST', '/api/v1/auth/totp/confirm', code],
      ['DELETE', '/api/v1/auth/totp', undefined],
      ['POST', '/api/v1/auth/recovery-codes', undefined],
      ['POST', '/api/v1/auth/passkeys/options', undefined],
      ['DELETE', `/api/v1/auth/passkeys/${id}`, undefined],
    ] as const) {
      const sent = body === undefined ? { headers } : { headers, payload: body };
      expect([url, await outcome(method, url, sent)]).toEqual([url, ASKED]);
    }
    expect(await stepUp({ password: ADMIN.password })).toBe('done');
    expect(await outcome('DELETE', `/api/v1/auth/passkeys/${id}`, { headers })).toBe(ASKED);
    expect(await stepUp({ totp: app.code() })).toBe('done');
    expect(await outcome('DELETE', `/api/v1/auth/passkeys/${id}`, { headers })).toBe('done');
  });

  test('a cookie steps up with its CSRF token, and not without', async () => {
    const { enrolTotp, send, outcome, clock, headers } = await open();
    const app = await enrolTotp(headers);
    const credentials = { ...ADMIN, totp: app.code() };
    const { cookies } = await send('POST', '/api/v1/auth/login', { payload: credentials });
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const csrf = cookies.find(({ name }) => name.endsWith('csrf'))?.value ?? '';
    clock.advance(30_000);
    const payload = { totp: app.code() };
    expect(await outcome('POST', STEP_UP, { headers: { cookie }, payload })).toBe('403 forbidden');
    const sent = { cookie, 'x-csrf-token': csrf };
    expect(await outcome('POST', STEP_UP, { headers: sent, payload })).toBe('done');
  });
});
