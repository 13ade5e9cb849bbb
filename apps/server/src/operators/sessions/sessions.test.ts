import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createFactorScene } from '../../testing/factor-scene.ts';
import { ADMIN } from '../../testing/operator-app.ts';

const URL = '/api/v1/auth/sessions';
const ALL = '/api/v1/admin/sessions';
const SESSION = '/api/v1/auth/session';
const PASSWORD = '/api/v1/auth/password';
const LOGIN = '/api/v1/auth/login';

interface Listed {
  id: string;
  is_current: boolean;
  last_used_at: string;
}

describe.each(ENGINES)('sessions, on $name', (engine) => {
  async function open() {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    type Headers = Record<string, string>;
    const statusOf = async (by: Headers, url = SESSION) =>
      (await scene.send('GET', url, { headers: by })).statusCode;
    const list = async (by: Headers, query = ''): Promise<Listed[]> =>
      (await scene.send('GET', `${URL}${query}`, { headers: by })).json().items;
    return { ...scene, headers, statusOf, list };
  }

  test('each login makes a new session with its method, address and client, whatever cookie was sent', async () => {
    const { headers, send, logIn, statusOf, database, clock } = await open();
    const { cookie } = await logIn();
    clock.advance(1_000);
    const agent = `Mozilla/5.0 ${'x'.repeat(300)}`;
    const sent = { payload: ADMIN, headers: { cookie, 'user-agent': agent } };
    const answer = await send('POST', LOGIN, sent);
    const mine = { authorization: `Bearer ${answer.json().token}` };
    const { items, total, next_cursor } = (await send('GET', URL, { headers: mine })).json();
    expect([items.length, total, next_cursor]).toEqual([3, 3, null]);
    expect(items[0]).toEqual({
      id: expect.any(String),
      created_at: new Date(clock.now()).toISOString(),
      last_used_at: new Date(clock.now()).toISOString(),
      expires_at: expect.any(String),
      address: '127.0.0.1',
      user_agent: agent.slice(0, 256),
      method: 'password',
      is_current: true,
    });
    expect(items.slice(1).map((each: Listed) => each.is_current)).toEqual([false, false]);
    const ids = await database.read.selectFrom('operator_sessions').select('id').execute();
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
    expect([await statusOf(headers), await statusOf({ cookie })]).toEqual([200, 200]);
  });

  test('use is recorded at most once a minute', async () => {
    const { headers, list, statusOf, clock } = await open();
    const usedAt = async () => (await list(headers))[0]?.last_used_at;
    const start = clock.now();
    clock.advance(59_999);
    expect(await usedAt()).toBe(new Date(start).toISOString());
    clock.advance(1);
    expect(await usedAt()).toBe(new Date(start + 60_000).toISOString());
    clock.advance(59_999);
    expect(await statusOf(headers)).toBe(200);
    expect(await usedAt()).toBe(new Date(start + 60_000).toISOString());
  });

  test('the pages of a list are contiguous', async () => {
    const { headers, send, logInWith, clock } = await open();
    for (let i = 0; i < 4; i++) {
      clock.advance(1);
      await logInWith({});
    }
    const ids: string[] = [];
    let query = '?limit=2';
    for (let page = 0; page < 3; page++) {
      const { items, next_cursor, total } = (await send('GET', URL + query, { headers })).json();
      expect(total).toBe(5);
      ids.push(...items.map(({ id }: Listed) => id));
      query = `?limit=2&cursor=${next_cursor}`;
    }
    expect(ids).toEqual(ids.toSorted().reverse());
    expect(new Set(ids).size).toBe(5);
  });

  test('ending another session of one’s own takes effect at once', async () => {
    const { headers, list, send, logInWith, statusOf, eventsOf } = await open();
    const other = await logInWith({});
    const id = (await list(headers)).find((each) => !each.is_current)?.id;
    expect((await send('DELETE', `${URL}/${id}`, { headers })).statusCode).toBe(204);
    expect([await statusOf(headers), await statusOf(other)]).toEqual([200, 401]);
    expect((await send('DELETE', `${URL}/${id}`, { headers })).statusCode).toBe(404);
    expect(await eventsOf('SESSION_REVOKED')).toMatchObject([{ session_id: id, sessions: 1 }]);
  });

  test('ending all sessions spares the caller’s', async () => {
    const { headers, send, logInWith, statusOf, eventsOf, list } = await open();
    const others = [await logInWith({}), await logInWith({})];
    expect((await send('DELETE', URL, { headers })).statusCode).toBe(204);
    expect(await Promise.all([headers, ...others].map((each) => statusOf(each)))).toEqual([200, 401, 401]);
    expect(await eventsOf('SESSION_REVOKED')).toMatchObject([{ sessions: 2 }]);
    expect(await list(headers)).toHaveLength(1);
  });

  test('only admins see and end the sessions of others', async () => {
    const { headers, list, send, logInWith, addOperator, statusOf } = await open();
    const [eve, max] = [await addOperator(headers, 'eve'), await addOperator(headers, 'max', 'approver')];
    const [hers, his] = [await logInWith({}, eve.credentials), await logInWith({}, max.credentials)];
    const [own] = await list(headers);
    expect((await send('GET', `${URL}?operator_id=${eve.id}`, { headers: his })).statusCode).toBe(403);
    expect((await send('GET', `${URL}?operator_id=${max.id}`, { headers: his })).statusCode).toBe(200);
    for (const id of [own?.id, (await list(hers))[0]?.id]) {
      expect((await send('DELETE', `${URL}/${id}`, { headers: his })).statusCode).toBe(404);
    }
    const [seen] = await list(headers, `?operator_id=${eve.id}`);
    expect(seen).toMatchObject({ is_current: false });
    expect((await send('DELETE', `${URL}/${seen?.id}`, { headers })).statusCode).toBe(204);
    expect([await statusOf(hers), await statusOf(his), await statusOf(headers)]).toEqual([401, 200, 200]);
  });

  test('an admin of the fleet sees who is in, in pages, with names and without those that ended', async () => {
    const { headers, send, logInWith, addOperator, clock } = await open();
    const eve = await addOperator(headers, 'eve');
    clock.advance(1_000);
    const hers = await logInWith({}, eve.credentials);
    clock.advance(1_000);
    await logInWith({}, eve.credentials);
    const all = async (query = '') => (await send('GET', `${ALL}${query}`, { headers })).json();
    const { items, total, next_cursor } = await all('?limit=2');
    expect([items.length, total]).toEqual([2, 3]);
    expect(items[0]).toMatchObject({ username: 'eve', operator_id: eve.id, is_current: false });
    const rest = await all(`?limit=2&cursor=${next_cursor}`);
    expect(rest.items).toMatchObject([{ username: ADMIN.username, is_current: true }]);
    await send('DELETE', `/api/v1/auth/sessions/${items[1].id}`, { headers });
    expect((await all()).total).toBe(2);
    expect((await send('GET', ALL, { headers: hers })).statusCode).toBe(401);
    const again = await logInWith({}, eve.credentials);
    for (const [method, url] of [
      ['GET', ALL],
      ['DELETE', ALL],
      ['DELETE', `/api/v1/admin/operators/${eve.id}/sessions`],
    ] as const) {
      expect((await send(method, url, { headers: again })).statusCode).toBe(403);
    }
  });

  test('an admin ends all sessions of one operator, who is told, and whose API tokens stay', async () => {
    const { headers, send, logInWith, addOperator, statusOf, eventsOf, must } = await open();
    const [eve, max] = [await addOperator(headers, 'eve'), await addOperator(headers, 'max')];
    const hers = [await logInWith({}, eve.credentials), await logInWith({}, eve.credentials)];
    const his = await logInWith({}, max.credentials);
    const end = () => send('DELETE', `/api/v1/admin/operators/${eve.id}/sessions`, { headers });
    expect((await end()).statusCode).toBe(204);
    const left = await Promise.all([...hers, his, headers].map((each) => statusOf(each)));
    expect(left).toEqual([401, 401, 200, 200]);
    expect((await end()).statusCode).toBe(204);
    expect(await eventsOf('SESSION_REVOKED')).toEqual([
      { operator_id: eve.id, username: 'eve', sessions: 2 },
    ]);
    const mine = await logInWith({}, eve.credentials);
    const { items } = Object(await must('GET', '/api/v1/auth/notices', { headers: mine }));
    expect(items).toMatchObject([{ kind: 'sessions_ended', subject: '2', actor: ADMIN.username }]);
    const nobody = `/api/v1/admin/operators/${crypto.randomUUID()}/sessions`;
    expect((await send('DELETE', nobody, { headers })).statusCode).toBe(404);
  });

  test('an admin ends every session but the own one, with an event for each operator', async () => {
    const { headers, send, logInWith, addOperator, statusOf, eventsOf } = await open();
    const [eve, max] = [await addOperator(headers, 'eve'), await addOperator(headers, 'max')];
    const others = [
      await logInWith({}),
      await logInWith({}, eve.credentials),
      await logInWith({}, eve.credentials),
      await logInWith({}, max.credentials),
    ];
    expect((await send('DELETE', ALL, { headers })).statusCode).toBe(204);
    const left = await Promise.all([headers, ...others].map((each) => statusOf(each)));
    expect(left).toEqual([200, 401, 401, 401, 401]);
    const told = (await eventsOf('SESSION_REVOKED')).map(({ username, sessions }) => [username, sessions]);
    expect(told.toSorted()).toEqual(
      [
        [ADMIN.username, 1],
        ['eve', 2],
        ['max', 1],
      ].toSorted(),
    );
  });

  test('an admin bound to groups of hosts sees only its own sessions', async () => {
    const { headers, list, send, logInWith, addOperator, must } = await open();
    const ada = await addOperator(headers, 'ada', 'admin');
    await must('PATCH', `/api/v1/admin/operators/${ada.id}`, { headers, payload: { groups: ['web'] } });
    const bound = await logInWith({}, ada.credentials);
    const [own] = await list(headers);
    const root = (await send('GET', SESSION, { headers })).json().operator.id;
    expect((await send('GET', `${URL}?operator_id=${root}`, { headers: bound })).statusCode).toBe(403);
    expect((await send('DELETE', `${URL}/${own?.id}`, { headers: bound })).statusCode).toBe(404);
    expect(await list(bound)).toHaveLength(1);
  });

  test.each(['adding', 'removing', 'a passkey'])('%s a factor ends the other sessions', async (what) => {
    const { headers, enrolTotp, addPasskey, logInWith, statusOf, must } = await open();
    let other = await logInWith({});
    if (what === 'a passkey') await addPasskey(headers);
    else {
      const app = await enrolTotp(headers);
      if (what === 'removing') {
        other = await logInWith({ totp: app.code() });
        await must('DELETE', '/api/v1/auth/totp', { headers });
      }
    }
    expect([await statusOf(headers), await statusOf(other)]).toEqual([200, 401]);
  });

  test('a new password requires the present one, ends the other sessions and leaves an event', async () => {
    const { headers, send, logInWith, statusOf, tryLogIn, eventsOf } = await open();
    const other = await logInWith({});
    const change = async (current_password: string, new_password: string) =>
      (await send('POST', PASSWORD, { headers, payload: { current_password, new_password } })).statusCode;
    expect(await change('not the password', 'a new long password')).toBe(403);
    expect(await change(ADMIN.password, 'short')).toBe(400);
    expect([await statusOf(headers), await statusOf(other)]).toEqual([200, 200]);
    expect(await change(ADMIN.password, 'a new long password')).toBe(204);
    expect([await statusOf(headers), await statusOf(other)]).toEqual([200, 401]);
    expect(await tryLogIn()).toBe('401 unauthenticated');
    expect(await tryLogIn({}, { ...ADMIN, password: 'a new long password' })).toBe('200');
    expect((await eventsOf('OPERATOR_CHANGED'))[0]).toMatchObject({
      change: 'own_password',
      username: 'root',
    });
  });

  test('guesses at the present password are throttled for that session and not for logins', async () => {
    const { headers, send, rateLimits, clock, tryLogIn } = await open();
    await rateLimits.reset('test');
    clock.advance(60_000);
    const payload = { current_password: 'a guess', new_password: 'a new long password' };
    const codes = [];
    for (let i = 0; i < 12; i++) {
      codes.push((await send('POST', PASSWORD, { headers, payload })).statusCode);
    }
    expect(codes).toEqual([...Array(5).fill(403), ...Array(7).fill(429)]);
    expect(await tryLogIn()).toBe('200');
    const right = { current_password: ADMIN.password, new_password: 'a new long password' };
    clock.advance(5_000);
    expect((await send('POST', PASSWORD, { headers, payload: right })).statusCode).toBe(204);
  });

  test('an admin removes all factors of an operator, which ends its sessions and leaves a warning', async () => {
    const { headers, addOperator, logInWith, enrolTotp, addPasskey, send, statusOf, tryLogIn, eventsOf } =
      await open();
    const eve = await addOperator(headers, 'eve');
    const url = `/api/v1/admin/operators/${eve.id}/factors`;
    expect((await send('DELETE', url, { headers })).statusCode).toBe(409);
    const hers = await logInWith({}, eve.credentials);
    await enrolTotp(hers);
    await addPasskey(hers);
    expect((await send('DELETE', url, { headers: hers })).statusCode).toBe(403);
    expect((await send('DELETE', url, { headers })).statusCode).toBe(204);
    expect(await statusOf(hers)).toBe(401);
    expect(await tryLogIn({}, eve.credentials)).toBe('200');
    const said = { username: 'eve', operator_id: eve.id, totp: true, passkeys: 1 };
    expect(await eventsOf('FACTORS_RESET')).toMatchObject([said]);
    expect((await send('DELETE', url.replace(eve.id, NOBODY), { headers })).statusCode).toBe(404);
  });
});

const NOBODY = '01900000-0000-7000-8000-00000000beef';
