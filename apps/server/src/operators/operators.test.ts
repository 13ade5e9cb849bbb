import { describe, expect, test } from 'vitest';
import { listEvents } from '../events/store.ts';
import { ENGINES } from '../testing/engines.ts';
import { createFactorScene } from '../testing/factor-scene.ts';
import { ADMIN, createOperatorApp } from '../testing/operator-app.ts';

const URL = '/api/v1/admin/operators';

describe.each(ENGINES)('on $name', (engine) => {
  test('an admin adds, lists, changes and deletes operators, each with an event', async () => {
    const { send, logIn, database } = await createOperatorApp(engine);
    const { headers } = await logIn();
    const made = await send('POST', URL, {
      headers,
      payload: { username: 'Eve', password: 'one long password', role: 'viewer' },
    });
    expect([made.statusCode, made.json()]).toEqual([
      201,
      {
        id: expect.any(String),
        username: 'eve',
        role: 'viewer',
        groups: null,
        disabled: false,
        second_factors: [],
        has_password: true,
        created_at: expect.any(String),
      },
    ]);
    const one = `${URL}/${made.json().id}`;
    expect((await send('GET', one, { headers })).json()).toEqual(made.json());
    const changed = await send('PATCH', one, { headers, payload: { role: 'approver' } });
    expect([changed.statusCode, changed.json().role]).toEqual([200, 'approver']);
    expect((await send('DELETE', one, { headers })).statusCode).toBe(204);
    expect((await send('GET', one, { headers })).statusCode).toBe(404);
    expect((await send('DELETE', one, { headers })).statusCode).toBe(404);
    const events = await listEvents(database.read, {
      filter: { type: 'OPERATOR_CHANGED' },
      scope: null,
      limit: 10,
      before: null,
    });
    expect(events.map((e) => [e.actor, JSON.parse(e.content).change])).toEqual([
      ['root', 'deleted'],
      ['root', 'changed'],
      ['root', 'created'],
      ['environment', 'created'],
    ]);
    expect(JSON.stringify(events)).not.toContain('argon2');
  });

  test('the list pages by name', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    for (const username of ['dora', 'carl', 'bob', 'anna']) {
      await send('POST', URL, {
        headers,
        payload: { username, password: 'one long password', role: 'viewer' },
      });
    }
    const first = (await send('GET', `${URL}?limit=3`, { headers })).json();
    expect([first.items.map((o: { username: string }) => o.username), first.total]).toEqual([
      ['anna', 'bob', 'carl'],
      5,
    ]);
    const second = (await send('GET', `${URL}?limit=3&cursor=${first.next_cursor}`, { headers })).json();
    expect(second.items.map((o: { username: string }) => o.username)).toEqual(['dora', 'root']);
    expect(second.next_cursor).toBeNull();
    expect((await send('GET', `${URL}?limit=0`, { headers })).statusCode).toBe(400);
    expect((await send('GET', `${URL}?cursor=!`, { headers })).statusCode).toBe(400);
    expect((await send('GET', `${URL}?colour=red`, { headers })).statusCode).toBe(400);
  });

  test('the list is searched by a part of the name, which is no pattern', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    for (const username of ['dora', 'isidora', 'bob']) {
      await send('POST', URL, {
        headers,
        payload: { username, password: 'one long password', role: 'viewer' },
      });
    }
    const first = (await send('GET', `${URL}?q=DOR&limit=1`, { headers })).json();
    expect([first.total, first.items]).toEqual([2, [expect.objectContaining({ username: 'dora' })]]);
    const next = (await send('GET', `${URL}?q=DOR&limit=1&cursor=${first.next_cursor}`, { headers })).json();
    expect([next.items, next.next_cursor]).toEqual([
      [expect.objectContaining({ username: 'isidora' })],
      null,
    ]);
    const none = (await send('GET', `${URL}?q=%25`, { headers })).json();
    expect([none.total, none.items]).toEqual([0, []]);
  });

  test('admins see who has which second factor, and an unconfirmed one is not shown', async () => {
    const scene = await createFactorScene(engine);
    const admin = (await scene.logIn()).headers;
    const factorsOf = async () => {
      const { items } = (await scene.send('GET', URL, { headers: admin })).json();
      return items.map((each: { username: string; second_factors: string[] }) => [
        each.username,
        each.second_factors,
      ]);
    };
    const [app, keys, begun] = await Promise.all(
      ['app', 'keys', 'begun'].map((name) => scene.addOperator(admin, name)),
    );
    const headersOf = async (made = app) => (await scene.logIn(made?.credentials)).headers;
    await scene.must('POST', '/api/v1/auth/totp', { headers: await headersOf(begun) });
    await scene.enrolTotp(await headersOf(app));
    const headers = await headersOf(keys);
    await scene.addPasskey(headers);
    await scene.addPasskey(headers, undefined, 'telephone');
    expect(await factorsOf()).toEqual([
      ['app', ['totp']],
      ['begun', []],
      ['keys', ['passkey']],
      ['root', []],
    ]);
    const one = await scene.send('GET', `${URL}/${keys?.id}`, { headers: admin });
    expect(one.json().second_factors).toEqual(['passkey']);
    await scene.must('DELETE', `${URL}/${keys?.id}/factors`, { headers: admin });
    expect(await factorsOf()).toContainEqual(['keys', []]);
  });

  test('a name that is taken is a conflict, in any case of letters', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    const answer = await send('POST', URL, {
      headers,
      payload: { username: 'ROOT', password: 'one long password', role: 'viewer' },
    });
    expect([answer.statusCode, answer.json().code]).toEqual([409, 'conflict']);
  });

  test.each([{ role: 'viewer' }, { disabled: true }])(
    'the last admin stays an admin: %j',
    async (payload) => {
      const { send, logIn } = await createOperatorApp(engine);
      const { headers } = await logIn();
      const [root] = (await send('GET', URL, { headers })).json().items;
      expect((await send('PATCH', `${URL}/${root.id}`, { headers, payload })).json().code).toBe('conflict');
      expect((await send('DELETE', `${URL}/${root.id}`, { headers })).json().code).toBe('conflict');
      const second = { username: 'second', password: 'one long password', role: 'admin' };
      await send('POST', URL, { headers, payload: second });
      expect((await send('PATCH', `${URL}/${root.id}`, { headers, payload })).statusCode).toBe(200);
    },
  );

  test('an operator may be bound to groups of hosts; a new binding counts at the next request', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    const payload = {
      username: 'eve',
      password: 'one long password',
      role: 'viewer',
      groups: ['web', 'db', 'web'],
    };
    const made = await send('POST', URL, { headers, payload });
    expect([made.statusCode, made.json().groups]).toEqual([201, ['db', 'web']]);
    const one = `${URL}/${made.json().id}`;
    const eve = await logIn({ username: 'eve', password: 'one long password' });
    const own = async () =>
      (await send('GET', '/api/v1/auth/session', { headers: eve.headers })).json().operator.groups;
    expect(await own()).toEqual(['db', 'web']);
    expect((await send('PATCH', one, { headers, payload: { role: 'approver' } })).json().groups).toEqual([
      'db',
      'web',
    ]);
    await send('PATCH', one, { headers, payload: { groups: ['db'] } });
    expect(await own()).toEqual(['db']);
    await send('PATCH', one, { headers, payload: { groups: null } });
    expect(await own()).toBeNull();
  });

  test('the last admin of the whole fleet cannot be bound to groups, even with other admins who are bound', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    const bound = { username: 'bound', password: 'one long password', role: 'admin', groups: ['web'] };
    await send('POST', URL, { headers, payload: bound });
    const root = (await send('GET', URL, { headers })).json().items.at(-1);
    const answer = await send('PATCH', `${URL}/${root.id}`, { headers, payload: { groups: ['web'] } });
    expect([answer.statusCode, answer.json().code]).toEqual([409, 'conflict']);
    expect((await send('DELETE', `${URL}/${root.id}`, { headers })).json().code).toBe('conflict');
  });

  test('two admins who remove each other at once leave one', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const root = await logIn();
    const second = { username: 'second', password: 'one long password' };
    await send('POST', URL, { headers: root.headers, payload: { ...second, role: 'admin' } });
    const other = await logIn(second);
    const ids = (await send('GET', URL, { headers: root.headers })).json().items;
    const [rootId, secondId] = ids.map((o: { id: string }) => o.id);
    const answers = await Promise.all([
      send('DELETE', `${URL}/${secondId}`, { headers: root.headers }),
      send('DELETE', `${URL}/${rootId}`, { headers: other.headers }),
    ]);
    // The slower one is removed already, or finds the other to be the last admin.
    expect(answers.map((a) => a.statusCode).filter((c) => c === 204)).toHaveLength(1);
  });

  test.each([
    ['viewer', 403],
    ['approver', 403],
  ])('a %s may not see or change operators', async (role, status) => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    const payload = { username: 'eve', password: 'one long password', role };
    await send('POST', URL, { headers, payload });
    const eve = await logIn({ username: 'eve', password: 'one long password' });
    const answer = await send('GET', URL, { headers: eve.headers });
    expect([answer.statusCode, answer.json().code]).toEqual([status, 'forbidden']);
    const mint = { username: 'mine', password: 'one long password', role: 'admin' };
    expect((await send('POST', URL, { headers: eve.headers, payload: mint })).statusCode).toBe(status);
  });

  test('a new role counts at the next request; a new password or disabling ends the sessions', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    const made = await send('POST', URL, {
      headers,
      payload: { username: 'eve', password: 'one long password', role: 'admin' },
    });
    const one = `${URL}/${made.json().id}`;
    const eve = await logIn({ username: 'eve', password: 'one long password' });
    const status = async (session = eve) => (await send('GET', URL, { headers: session.headers })).statusCode;
    expect(await status()).toBe(200);
    await send('PATCH', one, { headers, payload: { role: 'viewer' } });
    expect(await status()).toBe(403);
    await send('PATCH', one, { headers, payload: { role: 'admin', password: 'two long passwords' } });
    expect(await status()).toBe(401);
    const again = await logIn({ username: 'eve', password: 'two long passwords' });
    expect(await status(again)).toBe(200);
    await send('PATCH', one, { headers, payload: { disabled: true } });
    expect(await status(again)).toBe(401);
  });

  test('an operator who was disabled in the table has no live session either', async () => {
    const { send, logIn, database } = await createOperatorApp(engine);
    const { headers } = await logIn();
    await database.transact((tx) => tx.updateTable('operators').set({ disabled_at: 1 }).execute());
    expect((await send('GET', URL, { headers })).json().code).toBe('access_token_invalid');
  });

  test('changing one’s own password ends all sessions but the current one', async () => {
    const { send, logIn } = await createOperatorApp(engine);
    const [here, there] = [await logIn(), await logIn()];
    const [root] = (await send('GET', URL, { headers: here.headers })).json().items;
    await send('PATCH', `${URL}/${root.id}`, {
      headers: here.headers,
      payload: { password: 'two long passwords' },
    });
    expect((await send('GET', URL, { headers: here.headers })).statusCode).toBe(200);
    expect((await send('GET', URL, { headers: there.headers })).statusCode).toBe(401);
    expect((await send('POST', '/api/v1/auth/login', { payload: ADMIN })).statusCode).toBe(401);
  });

  test.each([
    [{ username: 'a b', password: 'one long password', role: 'viewer' }],
    [{ username: 'a', password: 'short', role: 'viewer' }],
    [{ username: 'a', password: 'one long password', role: 'god' }],
    [{ username: 'a', password: 'one long password', role: 'viewer', groups: [] }],
    [{ username: 'a', password: 'one long password', role: 'viewer', groups: [' web'] }],
    [{ username: 'a', password: 'one long password', role: 'viewer', groups: ['a\u0000b'] }],
  ])('refuses %j as invalid', async (payload) => {
    const { send, logIn } = await createOperatorApp(engine);
    const { headers } = await logIn();
    expect((await send('POST', URL, { headers, payload })).json().code).toBe('invalid_request');
  });
});
