import { describe, expect, test } from 'vitest';
import { BUDGETS } from '../outsiders/budget-rules.ts';
import type { Database } from '../platform/db/engine.ts';
import { ENGINES } from '../testing/engines.ts';
import { createOperatorApp } from '../testing/operator-app.ts';
import { createTestApp } from '../testing/test-app.ts';
import { separateClientErrors } from './separate-events.ts';
import { pruneClientErrors } from './store.ts';

const URL = '/logs/client-error';
async function errorsIn({ read }: Database) {
  const page = { filter: {}, q: undefined, descending: true, limit: 1_000, after: null };
  return (await separateClientErrors.list(read, page)).rows;
}

const report = { error_type: 'javascript_error', message: 'x is not a function' };

describe.each(ENGINES)('E7 on $name', (engine) => {
  test.each([
    ['javascript_error', 'error'],
    ['api_error', 'error'],
    ['ui_error', 'error'],
    ['validation_error', 'warning'],
    ['client_debug', 'info'],
    ['client_trace', 'info'],
  ])('%s is accepted and kept as a client_error event of severity %s', async (error_type, severity) => {
    const { send, database } = await createOperatorApp(engine);
    const payload = {
      error_type,
      message: '<script>alert(1)</script>',
      subsystem: 'hosts',
      url: '/hosts?q=1',
      stack: 'at f (x.js:1)',
      metadata: { retries: 2, online: true, note: null, route: 'hosts' },
    };
    const answer = await send('POST', URL, { payload });
    expect([answer.statusCode, answer.json()]).toEqual([202, { accepted: true }]);
    const [event] = await errorsIn(database);
    expect(event).toMatchObject({ kind: 'system', severity, actor: null, component: 'console' });
    expect(JSON.parse(event?.content ?? '')).toEqual(payload);
  });

  test.each([
    ['an unknown type', { ...report, error_type: 'panic' }],
    ['no message', { error_type: 'ui_error' }],
    ['a message of 10,001 characters', { ...report, message: 'x'.repeat(10_001) }],
    ['an unknown field', { ...report, cookie: 'x' }],
    ['nested metadata', { ...report, metadata: { a: { b: 1 } } }],
    [
      'too much metadata',
      { ...report, metadata: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, i])) },
    ],
  ])('%s is 400', async (_, payload) => {
    const { send } = await createOperatorApp(engine);
    expect((await send('POST', URL, { payload })).statusCode).toBe(400);
  });

  test('a message of 10,000 characters fits, a body over 64 KiB does not', async () => {
    const { send } = await createOperatorApp(engine);
    const payload = { ...report, message: 'é'.repeat(10_000) };
    expect((await send('POST', URL, { payload })).statusCode).toBe(202);
    const large = { ...report, message: 'x'.repeat(70_000) };
    expect((await send('POST', URL, { payload: large })).statusCode).toBe(413);
  });

  test('limits count the operator if one is logged in, else the address', async () => {
    const { send, logIn, database } = await createOperatorApp(engine);
    const { cookie } = await logIn();
    const codes = async (headers: Record<string, string>) => {
      const answers = Array.from({ length: 32 }, () => send('POST', URL, { payload: report, headers }));
      return (await Promise.all(answers)).filter((a) => a.statusCode === 202).length;
    };
    expect(await codes({})).toBe(30);
    expect(await codes({ cookie })).toBe(30);
    expect(await codes({ authorization: 'Bearer nonsense' })).toBe(0);
    const [event] = await errorsIn(database);
    expect(event?.actor).toBe('root');
  });

  test('they are kept apart from the chain, which strangers cannot grow', async () => {
    const { send, database } = await createOperatorApp(engine);
    const length = async () =>
      (await database.read.selectFrom('events_head').select('position').executeTakeFirstOrThrow()).position;
    const before = await length();
    expect((await send('POST', URL, { payload: report })).statusCode).toBe(202);
    expect(await length()).toBe(before);
    expect(await errorsIn(database)).toHaveLength(1);
  });

  test('past the daily budget they are counted and dropped, with the same answer and one event', async () => {
    const { send, database, platform } = await createOperatorApp(engine);
    const payload = { ...report, message: 'x'.repeat(10_000), stack: 'y'.repeat(10_000) };
    const sent = Math.ceil(BUDGETS.client_errors.bytes / 20_000) + 2;
    for (let i = 0; i < sent; i++) {
      expect((await send('POST', URL, { payload })).statusCode).toBe(202);
      platform.clock.advance(3_000); // past the separate limit per minute
    }
    const kept = (await errorsIn(database)).length;
    expect(kept).toBeLessThan(sent);
    expect(kept).toBeGreaterThan(sent - 10);
    const spent = await database.read
      .selectFrom('events')
      .select('content')
      .where('type', '=', 'OUTSIDER_BUDGET_SPENT')
      .execute();
    expect(spent).toHaveLength(1);
  });

  test('only the newest are kept, within rows and bytes', async () => {
    const { send, database } = await createOperatorApp(engine);
    for (let i = 0; i < 6; i++) await send('POST', URL, { payload: { ...report, message: `m${i}` } });
    const prune = (rows: number, bytes: number) =>
      database.transact((tx) => pruneClientErrors(tx, { rows, bytes }));
    expect(await prune(4, 1_000_000)).toBe(2);
    const [newest] = await errorsIn(database);
    expect(await prune(100, 2 * Buffer.byteLength(newest?.content ?? '') + 1)).toBe(2);
    const left = (await errorsIn(database)).map(({ content }) => JSON.parse(content).message);
    expect(left).toEqual(['m5', 'm4']);
  });

  test('E9 lists them by their type, page by page, and one by its id', async () => {
    const { http, adminToken } = await createTestApp(engine);
    for (let i = 0; i < 5; i++) {
      await http.inject({ method: 'POST', url: URL, payload: { ...report, message: `m${i}` } });
    }
    const authorization = `Bearer ${await adminToken()}`;
    const get = async (url: string) => (await http.inject({ url, headers: { authorization } })).json();
    const first = await get('/api/v1/events?type=client_error&limit=3');
    expect(first).toMatchObject({
      total: 5,
      items: [{ type: 'client_error', content: { message: 'm4' } }, {}, {}],
    });
    const next = await get(`/api/v1/events?type=client_error&limit=3&cursor=${first.next_cursor}`);
    expect(next.items.map((item: { content: { message: string } }) => item.content.message)).toEqual([
      'm1',
      'm0',
    ]);
    expect(next.next_cursor).toBeNull();
    const { id, hash } = first.items[0];
    expect(await get(`/api/v1/events/${id}`)).toMatchObject({
      id,
      hash,
      previous_hash: null,
      component: 'console',
    });
    for (const other of ['severity=warning', 'component=agents', 'kind=security', 'q=login'])
      expect((await get(`/api/v1/events?type=client_error&${other}`)).items).toEqual([]);
  });
});
