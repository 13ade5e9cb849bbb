import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { ADMIN, createOperatorApp } from '../../testing/operator-app.ts';

const LOGIN = '/api/v1/auth/login';
const WRONG = '401 unauthenticated';
const SLOWED = '429 rate_limited';

describe.each(ENGINES)('guesses at a name, on $name', (engine) => {
  async function open() {
    const scene = await createOperatorApp(engine);
    const ask = (from: string, credentials: { username: string; password: string }, cookie?: string) =>
      scene.send('POST', LOGIN, {
        payload: credentials,
        remoteAddress: from,
        ...(cookie === undefined ? {} : { headers: { cookie } }),
      });
    const tell = (answer: Awaited<ReturnType<typeof ask>>) =>
      answer.statusCode === 200 ? '200' : `${answer.statusCode} ${answer.json().code}`;
    const tryLogIn = async (...asked: Parameters<typeof ask>) => tell(await ask(...asked));
    const guess = (from: string, username: string = ADMIN.username) =>
      tryLogIn(from, { username, password: 'a guess at it' });
    /** Guesses from enough addresses that the name switches to turns. */
    const exhaust = async (username: string = ADMIN.username) => {
      const outcomes: string[] = [];
      for (let n = 0; n < 30; n++) outcomes.push(await guess(`192.0.2.${n}`, username));
      return outcomes;
    };
    const cookieOf = async () => {
      const { cookies } = await ask('198.51.100.1', ADMIN);
      const { name, value } = cookies.find((cookie) => cookie.name.endsWith('tidegate_device')) ?? {};
      return `${name}=${value}`;
    };
    return { ...scene, ask, tryLogIn, guess, exhaust, cookieOf };
  }

  test('from one address do not stop the right password from another', async () => {
    const { guess, tryLogIn, clock } = await open();
    for (let minute = 0; minute < 10; minute++) {
      for (let n = 0; n < 12; n++) await guess('192.0.2.1');
      expect(await tryLogIn('198.51.100.7', ADMIN)).toBe('200');
      clock.advance(60_000);
    }
  });

  test('wait longer each time, and Retry-After says how long', async () => {
    const { ask, guess, clock } = await open();
    for (let n = 0; n < 5; n++) expect(await guess('192.0.2.1')).toBe(WRONG);
    const waits: number[] = [];
    for (let n = 0; n < 4; n++) {
      const answer = await ask('192.0.2.1', ADMIN);
      expect(answer.statusCode).toBe(429);
      const wait = Number(answer.headers['retry-after']);
      expect(answer.json().retry_after_seconds).toBe(wait);
      waits.push(wait);
      clock.advance(wait * 1_000 + 12_000);
      expect(await guess('192.0.2.1')).toBe(WRONG);
    }
    expect(waits).toEqual([5, 10, 20, 40]);
  });

  test('from many addresses do not slow a known device of the owner', async () => {
    const { exhaust, tryLogIn, cookieOf } = await open();
    const cookie = await cookieOf();
    expect((await exhaust()).at(-1)).toBe(SLOWED);
    expect(await tryLogIn('203.0.113.9', ADMIN, cookie)).toBe('200');
    expect(await tryLogIn('203.0.113.9', ADMIN)).toBe(SLOWED);
  });

  test('from many addresses let the right password in from a new one after a minute', async () => {
    const { exhaust, ask, tryLogIn, guess, clock } = await open();
    await exhaust();
    const told = await ask('203.0.113.9', ADMIN);
    expect([told.statusCode, told.headers['retry-after']]).toEqual([429, '60']);
    clock.advance(30_000);
    for (let n = 0; n < 30; n++) expect(await guess(`192.0.2.${n}`)).toBe(SLOWED);
    clock.advance(30_000);
    for (let n = 0; n < 30; n++) expect(await guess(`192.0.2.${n}`)).toBe(SLOWED);
    expect(await tryLogIn('203.0.113.9', ADMIN)).toBe('200');
  });

  test('made at once are not all checked', async () => {
    const { guess } = await open();
    const addresses = Array.from({ length: 60 }, (_, n) => `192.0.2.${n}`);
    const outcomes = await Promise.all(addresses.map((from) => guess(from)));
    expect(outcomes.filter((outcome) => outcome === WRONG)).toHaveLength(20);
    expect(outcomes.filter((outcome) => outcome === SLOWED)).toHaveLength(40);
  });

  test('at an unknown name get the same answers', async () => {
    const { exhaust, platform } = await open();
    const ofNobody = await exhaust('nobody');
    expect(await exhaust()).toEqual(ofNobody);
    const events = await platform.database.read
      .selectFrom('events')
      .select('type')
      .where('type', '=', 'LOGINS_SLOWED')
      .execute();
    expect(events).toHaveLength(2);
  });

  test('notify the operator, once per time that they are throttled', async () => {
    const { exhaust, cookieOf, ask, send } = await open();
    const cookie = await cookieOf();
    await exhaust();
    await exhaust();
    const { token } = (await ask('203.0.113.9', ADMIN, cookie)).json();
    const headers = { authorization: `Bearer ${token}` };
    const { items } = (await send('GET', '/api/v1/auth/notices', { headers })).json();
    expect(items).toMatchObject([{ kind: 'logins_slowed', actor: 'somebody', is_new: true }]);
  });

  test('by a known device count for it alone, at any address', async () => {
    const { cookieOf, tryLogIn } = await open();
    const cookie = await cookieOf();
    const wrong = { ...ADMIN, password: 'a guess at it' };
    for (let n = 0; n < 5; n++) expect(await tryLogIn(`192.0.2.${n}`, wrong, cookie)).toBe(WRONG);
    expect(await tryLogIn('192.0.2.99', ADMIN, cookie)).toBe(SLOWED);
    expect(await tryLogIn('192.0.2.99', ADMIN)).toBe('200');
  });

  test('a device is not known to another operator, nor after a new password', async () => {
    const { cookieOf, exhaust, tryLogIn, logIn, send } = await open();
    const cookie = await cookieOf();
    const { headers } = await logIn();
    const eve = { username: 'eve', password: 'the password of eve' };
    await send('POST', '/api/v1/admin/operators', { headers, payload: { ...eve, role: 'viewer' } });
    await exhaust('eve');
    expect(await tryLogIn('203.0.113.9', eve, cookie)).toBe(SLOWED);
    const payload = { current_password: ADMIN.password, new_password: 'another horse battery' };
    const changed = await send('POST', '/api/v1/auth/password', { headers: { ...headers, cookie }, payload });
    const renewed = changed.cookies.find(({ name }) => name === 'tidegate_device');
    await exhaust();
    const now = { ...ADMIN, password: payload.new_password };
    expect(await tryLogIn('203.0.113.8', now, cookie)).toBe(SLOWED);
    expect(await tryLogIn('203.0.113.8', now, `${renewed?.name}=${renewed?.value}`)).toBe('200');
  });

  test('in a session are throttled for that session alone', async () => {
    const { logIn, send, clock } = await open();
    const [stolen, own] = [await logIn(), await logIn()];
    clock.advance(60_000);
    const prove = async ({ headers }: typeof own, password: string) =>
      (await send('POST', '/api/v1/auth/step-up', { headers, payload: { password } })).statusCode;
    for (let n = 0; n < 5; n++) expect(await prove(stolen, 'a guess at it')).toBe(403);
    for (let n = 0; n < 20; n++) expect(await prove(stolen, ADMIN.password)).toBe(429);
    expect(await prove(own, ADMIN.password)).toBe(200);
  });
});
