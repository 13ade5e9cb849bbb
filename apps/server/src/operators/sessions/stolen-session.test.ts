import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createFactorScene } from '../../testing/factor-scene.ts';
import { ADMIN } from '../../testing/operator-app.ts';

const FRESH_MS = 300_000;
const OPERATORS = '/api/v1/admin/operators';
const TOKENS = '/api/v1/admin/api-tokens';
const NOBODY = '01900000-0000-7000-8000-00000000beef';
const ASKED = '403 step_up_required';

/** Acts that outlive a session or grant access; each asks for the password first. */
const LASTING: [string, 'POST' | 'PATCH' | 'DELETE', string, object?][] = [
  ['an authenticator app', 'POST', '/api/v1/auth/totp'],
  ['its first code', 'POST', '/api/v1/auth/totp/confirm', { code: '000000' }],
  ['no authenticator app', 'DELETE', '/api/v1/auth/totp'],
  ['recovery codes', 'POST', '/api/v1/auth/recovery-codes'],
  ['a passkey', 'POST', '/api/v1/auth/passkeys/options'],
  ['another name of a passkey', 'PATCH', `/api/v1/auth/passkeys/${NOBODY}`, { name: 'mine' }],
  ['no passkey', 'DELETE', `/api/v1/auth/passkeys/${NOBODY}`],
  ['an API token', 'POST', TOKENS, { label: 'mine', role: 'admin', expires_at: '2026-11-22T00:00:00Z' }],
  ['no API token', 'DELETE', `${TOKENS}/${NOBODY}`],
  ['another operator', 'POST', OPERATORS, { username: 'eve', password: 'eve has a password', role: 'admin' }],
  ['the password of another', 'PATCH', `${OPERATORS}/${NOBODY}`, { password: 'eve knows this one' }],
  ['no operator', 'DELETE', `${OPERATORS}/${NOBODY}`],
  ['no factors of another', 'DELETE', `${OPERATORS}/${NOBODY}/factors`],
  ['no other sessions', 'DELETE', '/api/v1/auth/sessions'],
  ['no session', 'DELETE', `/api/v1/auth/sessions/${NOBODY}`],
];

describe.each(ENGINES)('a session that was left open, on $name', (engine) => {
  async function open() {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const outcome = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
      const answer = await scene.send(method, url, payload ? { headers, payload } : { headers });
      return answer.statusCode < 300 ? 'done' : `${answer.statusCode} ${answer.json().code}`;
    };
    const stepUp = (payload: object) => outcome('POST', '/api/v1/auth/step-up', payload);
    return { ...scene, headers, outcome, stepUp };
  }

  test.each(LASTING)(
    'gives %s only with the password of the last five minutes',
    async (_, method, url, body) => {
      const { clock, outcome, stepUp } = await open();
      clock.advance(FRESH_MS);
      expect(await outcome('POST', '/api/v1/auth/totp')).toBe('done');
      clock.advance(1);
      expect(await outcome(method, url, body)).toBe(ASKED);
      expect(await stepUp({ password: 'a guess of a thief' })).toBe(ASKED);
      expect(await outcome(method, url, body)).toBe(ASKED);
      expect(await stepUp({ password: ADMIN.password })).toBe('done');
      expect(await outcome(method, url, body)).not.toBe(ASKED);
    },
  );

  test('says what is missing: the password, and then the factor if there is one', async () => {
    const { clock, headers, send, stepUp, enrolTotp } = await open();
    const app = await enrolTotp(headers);
    clock.advance(2 * FRESH_MS + 1);
    const methods = async () =>
      (await send('POST', '/api/v1/auth/recovery-codes', { headers })).json().methods;
    expect(await methods()).toEqual(['password']);
    expect(await stepUp({ password: ADMIN.password })).toBe('done');
    expect(await methods()).toEqual(['totp', 'recovery_code']);
    expect(await stepUp({ totp: app.code() })).toBe('done');
    expect((await send('POST', '/api/v1/auth/recovery-codes', { headers })).statusCode).toBe(201);
  });

  test('that was opened by a passkey alone has proven no password', async () => {
    const { headers, addPasskey, must, send, logInWith: _, ...scene } = await open();
    const { authenticator } = await addPasskey(headers);
    const begun = await must('POST', '/api/v1/auth/login/passkey/options');
    const answer = await send('POST', '/api/v1/auth/login/passkey', { payload: authenticator.get(begun) });
    const own = { authorization: `Bearer ${answer.json().token}` };
    const asked = await send('POST', '/api/v1/auth/totp', { headers: own });
    expect([asked.statusCode, asked.json().methods]).toEqual([403, ['password']]);
    const payload = { password: ADMIN.password };
    expect((await send('POST', '/api/v1/auth/step-up', { headers: own, payload })).statusCode).toBe(200);
    expect((await send('POST', '/api/v1/auth/totp', { headers: own })).statusCode).toBe(200);
    expect(await scene.eventsOf('STEP_UP_SUCCEEDED')).toMatchObject([{ method: 'password' }]);
  });
});
