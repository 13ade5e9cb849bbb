import { Secret, TOTP } from 'otpauth';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { type CliPlace, createCliPlace, createServedPlace } from '../testing/cli-place.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

const PASSWORD = 'correct horse battery';

const add = (it: CliPlace, name: string, role: string) =>
  it.run(['operators', 'add', name, '--role', role], { stdin: `${PASSWORD}\n` });

async function statesOf(it: CliPlace): Promise<unknown[]> {
  const { out } = await it.run(['operators', 'list', '--json']);
  return JSON.parse(out).items.map((each: Record<string, unknown>) => [
    each.username,
    each.role,
    each.disabled,
  ]);
}

async function logIn(url: string, username: string, password = PASSWORD): Promise<number> {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  });
  return answer.status;
}

async function tokenOf(url: string, username: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: PASSWORD }),
  });
  return Value.Parse(Type.Object({ token: Type.String() }), await answer.json()).token;
}

describe.each(SAMPLED_ENGINES)('tidegate operators on $name', (engine) => {
  test('while the server runs: an added operator logs in, and a new password replaces the old one', async () => {
    const it = await createCliPlace(engine);
    const { url } = await it.start();
    const added = await it.spawn(['operators', 'add', 'Olga', '--role', 'admin'], { stdin: PASSWORD });
    expect(added).toEqual({ code: 0, out: 'Operator olga added as admin.\n', err: '' });
    expect(await logIn(url, 'olga')).toBe(200);
    const changed = await it.spawn(['operators', 'set-password', 'olga'], { stdin: 'another long one\r\n' });
    expect(changed).toMatchObject({ code: 0, err: '' });
    expect([await logIn(url, 'olga'), await logIn(url, 'olga', 'another long one')]).toEqual([401, 200]);
  });

  test('a new password ends open sessions, unless --keep names them', async () => {
    const it = await createServedPlace(engine);
    await add(it, 'olga', 'admin');
    const first = await it.start();
    const headers = { authorization: `Bearer ${await tokenOf(first.url, 'olga')}` };
    await first.stop();
    const setPassword = (...more: string[]) =>
      it.run(['operators', 'set-password', 'olga', ...more], { stdin: 'another long one' });
    const statusAfter = async () => {
      const { url, stop } = await it.start();
      const { status } = await fetch(`${url}/api/v1/auth/session`, { headers });
      await stop();
      return status;
    };
    const kept =
      'The password of olga is changed; factors, sessions and API tokens have ended, except the authenticator app, sessions.';
    expect(await setPassword('--keep', 'sessions,totp')).toMatchObject({ code: 0, out: kept });
    expect(await statusAfter()).toBe(200);
    const ended = 'The password of olga is changed; factors, sessions and API tokens have ended.';
    expect(await setPassword()).toMatchObject({ code: 0, out: ended });
    expect(await statusAfter()).toBe(401);
  });

  test('reset-factors lets in the sole admin, who lost the authenticator app, and leaves an event', async () => {
    const it = await createServedPlace(engine);
    expect((await add(it, 'olga', 'admin')).code).toBe(0);
    const none = await it.run(['operators', 'reset-factors', 'olga']);
    expect(none).toEqual({ code: 1, out: '', err: 'This operator has no second factor.' });
    const server = await it.start();
    const headers = { authorization: `Bearer ${await tokenOf(server.url, 'olga')}` };
    const call = async (path: string, body: object) => {
      const sent = { ...headers, 'content-type': 'application/json' };
      const init = { method: 'POST', headers: sent, body: JSON.stringify(body) };
      return (await fetch(`${server.url}/api/v1/auth/${path}`, init)).json();
    };
    const { secret } = Value.Parse(Type.Object({ secret: Type.String() }), await call('totp', {}));
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const confirmed = await call('totp/confirm', { code: totp.generate({ timestamp: it.clock.now() }) });
    expect(confirmed).toMatchObject({ recovery_codes: expect.any(Array) });
    expect(await logIn(server.url, 'olga')).toBe(401);
    await server.stop();
    const reset = await it.run(['operators', 'reset-factors', 'OLGA']);
    expect(reset).toEqual({
      code: 0,
      out: 'The second factors of olga are removed; factors, sessions and API tokens have ended.',
      err: '',
    });
    const { url } = await it.start();
    expect((await fetch(`${url}/api/v1/auth/session`, { headers })).status).toBe(401);
    const again = { authorization: `Bearer ${await tokenOf(url, 'olga')}` };
    const events = await (await fetch(`${url}/api/v1/events?type=FACTORS_RESET`, { headers: again })).json();
    const event = { actor: 'cli', severity: 'warning', content: { username: 'olga' } };
    expect(events).toMatchObject({ items: [event] });
  });

  test('add, set-role, disable and enable, each an event with the actor cli', async () => {
    const it = await createServedPlace(engine);
    expect((await add(it, 'olga', 'admin')).code).toBe(0);
    expect((await add(it, 'vera', 'viewer')).code).toBe(0);
    expect((await it.run(['operators', 'set-role', 'vera', 'approver'])).out).toBe('vera is now approver.');
    expect((await it.run(['operators', 'disable', 'vera'])).code).toBe(0);
    expect(await statesOf(it)).toEqual([
      ['olga', 'admin', false],
      ['vera', 'approver', true],
    ]);
    expect((await it.run(['operators', 'enable', 'VERA', '--json'])).out).toContain('"disabled":false');
    const { url } = await it.start();
    const login = await fetch(`${url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'olga', password: PASSWORD }),
    });
    const { token }: { token: string } = JSON.parse(await login.text());
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}/api/v1/events?type=OPERATOR_CHANGED`, { headers });
    const { items }: { items: { actor: string; content: { change: string } }[] } = JSON.parse(
      await answer.text(),
    );
    const seen = items.map((event) => [event.actor, event.content.change]);
    expect(seen).toEqual([
      ['cli', 'changed'],
      ['cli', 'changed'],
      ['cli', 'changed'],
      ['cli', 'created'],
      ['cli', 'created'],
    ]);
  });

  test('link renews an expired set-up link, but not once an operator exists', async () => {
    const it = await createServedPlace(engine);
    it.clock.advance(3_600_000);
    const made = await it.run(['operators', 'link']);
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^http:\/\/127.0.0.1:0\/setup\/[\w-]{22}$/),
    });
    const { url } = await it.start();
    const path = new URL(made.out).pathname;
    const form = new URLSearchParams({ username: 'olga', password: PASSWORD, repeated: PASSWORD });
    const set = await fetch(url + path, { method: 'POST', body: form, redirect: 'manual' });
    expect(set.status).toBe(303);
    expect(await it.spawn(['operators', 'link'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('set-password'),
    });
  });

  test.each<[string, string, string, number]>([
    ['disable olga', '', 'This is the last admin of the whole fleet with a password.', 1],
    ['set-role olga viewer', '', 'This is the last admin of the whole fleet with a password.', 1],
    ['add olga --role viewer', PASSWORD, 'exists already', 1],
    ['add vera --role viewer', 'short', '8 to 256 characters', 1],
    ['add vera --role viewer', '', '8 to 256 characters', 1],
    ['add ve/ra --role viewer', PASSWORD, 'is not a valid name', 1],
    ['set-password nobody', PASSWORD, 'there is no operator', 1],
    ['add vera', PASSWORD, 'viewer, approver, admin', 2],
    ['add vera --role king', PASSWORD, 'viewer, approver, admin', 2],
    ['add vera --password secret', PASSWORD, '--password', 2],
    ['set-role olga', '', 'a NAME and a ROLE', 2],
    ['list --role admin', '', 'no --role', 2],
    ['disable olga --keep sessions', '', 'no --keep', 2],
    [
      'set-password olga --keep all',
      PASSWORD,
      'allowed: totp, passkeys, identities, sessions, api_tokens',
      2,
    ],
    ['reset-factors olga --keep totp', '', 'allowed: sessions, api_tokens', 2],
    ['list more', '', 'nothing else', 2],
    ['shout', '', 'needs one of', 2],
    ['', '', 'needs one of', 2],
  ])('%s says what is wrong', async (words, stdin, message, code) => {
    const it = await createServedPlace(engine);
    await add(it, 'olga', 'admin');
    const ran = await it.run(['operators', ...words.split(' ')], { stdin });
    expect(ran).toMatchObject({ code, out: '', err: expect.stringContaining(message) });
    expect(await statesOf(it)).toEqual([['olga', 'admin', false]]);
  });

  test('a folder that no server has used is refused, and stays empty', async () => {
    const it = await createCliPlace(engine);
    const ran = await it.run(['operators', 'list']);
    expect(ran).toMatchObject({ code: 1, err: expect.stringMatching(/there is no database|version none/) });
  });
});
