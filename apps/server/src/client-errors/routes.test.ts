import { describe, expect, test } from 'vitest';
import { listEvents } from '../events/store.ts';
import { ENGINES } from '../testing/engines.ts';
import { createOperatorApp } from '../testing/operator-app.ts';

const URL = '/logs/client-error';
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
    const [event] = await listEvents(database.read, {
      filter: { type: 'client_error' },
      scope: null,
      limit: 1,
      before: null,
    });
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

  test('limits count the operator where one is logged in, else the address', async () => {
    const { send, logIn, database } = await createOperatorApp(engine);
    const { cookie } = await logIn();
    const codes = async (headers: Record<string, string>) => {
      const answers = Array.from({ length: 32 }, () => send('POST', URL, { payload: report, headers }));
      return (await Promise.all(answers)).filter((a) => a.statusCode === 202).length;
    };
    expect(await codes({})).toBe(30);
    expect(await codes({ cookie })).toBe(30);
    expect(await codes({ authorization: 'Bearer nonsense' })).toBe(0);
    const [event] = await listEvents(database.read, {
      filter: { type: 'client_error' },
      scope: null,
      limit: 1,
      before: null,
    });
    expect(event?.actor).toBe('root');
  });
});
