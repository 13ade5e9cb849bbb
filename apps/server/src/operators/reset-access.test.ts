import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createFactorScene } from '../testing/factor-scene.ts';

const OPERATORS = '/api/v1/admin/operators';
const NEW = { username: 'eve', password: 'the newest password of eve' };

/** eve has an app, a passkey, an API token and a session, any of which a thief may have made. */
describe.each(ENGINES)('a reset by an admin, on $name', (engine) => {
  async function open() {
    const scene = await createFactorScene(engine);
    const { send, must } = scene;
    const { headers } = await scene.logIn();
    const eve = await scene.addOperator(headers, 'eve', 'admin');
    const session = await scene.logInWith({}, eve.credentials);
    const app = await scene.enrolTotp(session);
    const { authenticator } = await scene.addPasskey(session);
    const payload = { label: 'mine', role: 'viewer', expires_at: '2026-11-22T00:00:00Z' };
    const made = await send('POST', '/api/v1/admin/api-tokens', { headers: session, payload });
    const token = { authorization: `Bearer ${made.json().token}` };
    const byPasskey = async () => {
      const begun = await must('POST', '/api/v1/auth/login/passkey/options');
      return send('POST', '/api/v1/auth/login/passkey', { payload: authenticator.get(begun) });
    };
    /** What still logs in as eve. */
    const opens = async () => {
      const probe = (by: object) => send('GET', '/api/v1/auth/session', { headers: { ...by } });
      const withPassword = await scene.tryLogIn({}, NEW);
      return {
        session: (await probe(session)).statusCode === 200,
        token: (await probe(token)).statusCode === 200,
        passkey: (await byPasskey()).statusCode === 200,
        factor: withPassword === '401 second_factor_required',
        password: withPassword === '200',
      };
    };
    const reset = async (payload: object) =>
      send('PATCH', `${OPERATORS}/${eve.id}`, { headers, payload: { password: NEW.password, ...payload } });
    const resetFactors = async (query = '') =>
      send('DELETE', `${OPERATORS}/${eve.id}/factors${query}`, { headers });
    return { ...scene, headers, eve, session, app, opens, reset, resetFactors };
  }

  test('by a new password ends factors, passkeys, sessions and API tokens', async () => {
    const { reset, opens, eventsOf, eve } = await open();
    expect((await reset({})).statusCode).toBe(200);
    const gone = { session: false, token: false, passkey: false, factor: false };
    expect(await opens()).toEqual({ ...gone, password: true });
    const of = { operator_id: eve.id, username: 'eve' };
    expect(await eventsOf('FACTORS_RESET')).toMatchObject([{ ...of, totp: true, passkeys: 1 }]);
    expect((await eventsOf('SESSION_REVOKED'))[0]).toMatchObject({ ...of, sessions: 1 });
    expect((await eventsOf('API_TOKEN_REVOKED'))[0]).toMatchObject({ ...of, tokens: 1 });
    expect((await eventsOf('OPERATOR_CHANGED'))[0]).toMatchObject({
      ...of,
      password_changed: true,
      kept: [],
    });
  });

  test.each([
    [['totp', 'passkeys'], { session: false, token: false, passkey: true, factor: true, password: false }],
    [['totp'], { session: false, token: false, passkey: false, factor: true, password: false }],
    [['sessions'], { session: true, token: false, passkey: false, factor: false, password: true }],
    [['api_tokens'], { session: false, token: true, passkey: false, factor: false, password: true }],
  ])('keeps %s on request', async (keep, expected) => {
    const { reset, opens, eventsOf } = await open();
    expect((await reset({ keep })).statusCode).toBe(200);
    expect(await opens()).toEqual(expected);
    expect((await eventsOf('OPERATOR_CHANGED'))[0]).toMatchObject({ kept: keep });
  });

  test('with the session kept: lasting changes ask for the new password first', async () => {
    const { reset, send, session } = await open();
    await reset({ keep: ['sessions', 'totp'] });
    const asked = await send('POST', '/api/v1/auth/recovery-codes', { headers: session });
    expect([asked.statusCode, asked.json().methods]).toEqual([403, ['password']]);
  });

  test('of the factors ends sessions and API tokens too, unless they are to be kept', async () => {
    const { resetFactors, opens } = await open();
    expect((await resetFactors()).statusCode).toBe(204);
    const gone = { session: false, token: false, passkey: false, factor: false, password: false };
    expect(await opens()).toEqual(gone);
    const other = await open();
    expect((await other.resetFactors('?keep=api_tokens')).statusCode).toBe(204);
    expect(await other.opens()).toEqual({ ...gone, token: true });
  });

  test.each([
    [{ keep: ['everything'] }, '/keep/0'],
    [{ keep: ['totp', 'totp'] }, '/keep'],
    [{ keep: ['totp'], password: undefined, role: 'viewer' }, '/keep'],
  ])('%j is refused with what is wrong', async (body, path) => {
    const { reset } = await open();
    const answer = await reset(body);
    expect([answer.statusCode, answer.json().errors[0].path]).toEqual([400, path]);
  });

  test('ends an enrolment under way', async () => {
    const { headers, addOperator, logInWith, send, must } = await createFactorScene(engine).then(
      async (scene) => ({
        ...scene,
        headers: (await scene.logIn()).headers,
      }),
    );
    const eve = await addOperator(headers, 'eve');
    const session = await logInWith({}, eve.credentials);
    await must('POST', '/api/v1/auth/totp', { headers: session });
    await must('PATCH', `${OPERATORS}/${eve.id}`, { headers, payload: { password: NEW.password } });
    const own = await logInWith({}, NEW);
    const late = await send('POST', '/api/v1/auth/totp/confirm', {
      headers: own,
      payload: { code: '000000' },
    });
    expect([late.statusCode, late.json().code]).toEqual([409, 'conflict']);
  });
});
