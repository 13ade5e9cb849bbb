import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createFactorScene } from '../../testing/factor-scene.ts';
import { ADMIN } from '../../testing/operator-app.ts';
import { isCommonPassword } from './common-passwords.ts';
import { passwordFault } from './password-rules.ts';

const SHORT = 'has';
const TRIED = 'is one of the most used';
const NAMES = 'is mostly';

test.each<[string, boolean, string | null]>([
  // NIST SP 800-63B-4, 3.1.1.2: 15 alone, 8 with a second factor, no composition rules, any characters.
  ['twelve-chars', false, SHORT],
  ['fourteen chars', false, SHORT],
  ['fifteen charact', false, null],
  ['fifteen charact', true, null],
  ['seven-7', true, SHORT],
  ['eight-ch', true, null],
  ['🗝🗝🗝🗝🗝🗝🗝🗝🗝🗝🗝🗝🗝🗝', false, SHORT],
  ['eine längere Passphrase', false, null],
  ['               ', false, TRIED],
  ['aaaaaaaaaaaaaaaaaaaa', false, TRIED],
  ['passwordpassword', false, TRIED],
  ['PassWord1', true, TRIED],
  ['ｐａｓｓｗｏｒｄ１', true, TRIED],
  ['qwertyuiop', true, TRIED],
  ['12345678901234567890', false, TRIED],
  ['tidegate-anna-1', false, NAMES],
  ['Tidegate123', true, NAMES],
  ['annaannaannaannaanna', false, TRIED],
  ['tidegate anna tidegate', false, NAMES],
  ['anna knows her way about', false, null],
])('%j, with a factor %j: %j', (password, hasSecondFactor, fault) => {
  const found = passwordFault({ password, username: 'Anna', hasSecondFactor, isCommon: isCommonPassword });
  if (fault === null) expect(found).toBeNull();
  else expect(found).toContain(fault);
});

test('the longest accepted password has 256 characters; NIST requires at least 64', () => {
  const password = 'long words '.repeat(20).slice(0, 200);
  const asked = { password: `${password}!`, username: 'anna', hasSecondFactor: false };
  expect(passwordFault({ ...asked, isCommon: isCommonPassword })).toBeNull();
});

describe.each(ENGINES)('new passwords, on $name', (engine) => {
  async function open() {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    const change = async (current_password: string, new_password: string) => {
      const payload = { current_password, new_password };
      const answer = await scene.send('POST', '/api/v1/auth/password', { headers, payload });
      return answer.statusCode === 204 ? 'done' : `${answer.statusCode} ${answer.json().detail}`;
    };
    return { ...scene, headers, change };
  }

  test('are checked wherever they are set: one’s own, another operator’s, and the first', async () => {
    const { headers, change, send, addOperator } = await open();
    expect(await change(ADMIN.password, 'fourteen chars')).toMatch(/^400 The password has 14 characters/);
    const eve = await addOperator(headers, 'eve');
    const url = '/api/v1/admin/operators';
    for (const [method, path, body] of [
      ['POST', url, { username: 'vera', password: 'fourteen chars', role: 'viewer' }],
      ['PATCH', `${url}/${eve.id}`, { password: 'fourteen chars' }],
      ['PATCH', `${url}/${eve.id}`, { password: 'fourteen chars', keep: ['totp', 'passkeys'] }],
    ] as const) {
      const answer = await send(method, path, { headers, payload: body });
      expect([answer.statusCode, answer.json().errors[0].path]).toEqual([400, '/password']);
    }
  });

  test('may be shorter with a second factor, whose removal then needs a longer one first', async () => {
    const { headers, change, send, enrolTotp, eventsOf } = await open();
    await enrolTotp(headers);
    expect(await change(ADMIN.password, 'eight-ch')).toBe('done');
    const removed = await send('DELETE', '/api/v1/auth/totp', { headers });
    expect([removed.statusCode, removed.json().code]).toEqual([409, 'conflict']);
    expect(removed.json().detail).toContain('15 characters');
    expect(await eventsOf('FACTOR_REMOVED')).toEqual([]);
    expect(await change('eight-ch', 'a much longer password')).toBe('done');
    expect((await send('DELETE', '/api/v1/auth/totp', { headers })).statusCode).toBe(204);
  });

  test('a session of unknown password length asks for the password before removing the last factor', async () => {
    const { headers, must, addPasskey, send } = await open();
    const { authenticator, id } = await addPasskey(headers);
    const asked = await send('POST', '/api/v1/auth/login', { payload: ADMIN });
    const payload = authenticator.get(asked.json().passkey);
    const { token } = (await send('POST', '/api/v1/auth/login/passkey', { payload })).json();
    const own = { authorization: `Bearer ${token}` };
    const remove = () => send('DELETE', `/api/v1/auth/passkeys/${id}`, { headers: own });
    const first = await remove();
    expect([first.statusCode, first.json().methods]).toEqual([403, ['password']]);
    const proof = { password: ADMIN.password };
    await must('POST', '/api/v1/auth/step-up', { headers: own, payload: proof });
    expect((await remove()).statusCode).toBe(204);
  });
});
