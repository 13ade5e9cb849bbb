import { describe, expect, test } from 'vitest';
import { listEvents } from '../events/store.ts';
import { ENGINES } from '../testing/engines.ts';
import { createOperatorApp } from '../testing/operator-app.ts';
import { createRateLimits } from './rate-limits.ts';

const URL = '/api/v1/admin/rate-limits';

describe.each(ENGINES)('E5 on $name', (engine) => {
  async function setUp(options: Parameters<typeof createOperatorApp>[1] = {}) {
    const app = await createOperatorApp(engine, options);
    const { headers } = await app.logIn();
    const put = (classes: unknown) => app.send('PUT', URL, { headers, payload: { classes } });
    const get = async () => (await app.send('GET', URL, { headers })).json();
    const events = () =>
      listEvents(app.database.read, {
        filter: { type: 'RATE_LIMITS_CHANGED' },
        scope: null,
        limit: 10,
        before: null,
      });
    return { ...app, headers, put, get, events };
  }

  test('shows every class and the start-up penalty', async () => {
    const { get, clock } = await setUp({ bootedAgoMs: 20_000 });
    const { classes, startup_penalty } = await get();
    expect(Object.keys(classes)).toHaveLength(11);
    expect(classes.agent_checkin).toEqual({ requests: 60, window_seconds: 60, enabled: true });
    expect(classes.login.requests).toBe(10);
    expect(startup_penalty).toEqual({ active: true, ends_at: new Date(clock.now() + 40_000).toISOString() });
    clock.advance(40_000);
    expect((await get()).startup_penalty.active).toBe(false);
  });

  test('a change merges, within a class too, applies immediately, and leaves one event', async () => {
    const { put, get, events, rateLimits } = await setUp();
    const answer = await put({ agent_checkin: { requests: 3 }, login: { window_seconds: 120 } });
    expect(answer.statusCode).toBe(200);
    expect(answer.json().classes.agent_checkin).toEqual({ requests: 3, window_seconds: 60, enabled: true });
    expect(answer.json().classes.login).toEqual({ requests: 10, window_seconds: 120, enabled: true });
    expect(answer.json()).toEqual(await get());
    const takes = Array.from({ length: 5 }, () => rateLimits.limiter.take('agent_checkin', 'a').ok);
    expect(takes).toEqual([true, true, true, false, false]);
    const [event, ...more] = await events();
    expect(more).toEqual([]);
    expect(event?.actor).toBe('root');
    expect(JSON.parse(event?.content ?? '').classes.agent_checkin).toEqual({
      before: { requests: 60, window_seconds: 60, enabled: true },
      after: { requests: 3, window_seconds: 60, enabled: true },
    });
  });

  test.each([
    ['an unknown class', { agent_dance: { requests: 5 } }],
    ['no requests', { login: { requests: 0 } }],
    ['too many requests', { login: { requests: 100_001 } }],
    ['half a request', { login: { requests: 1.5 } }],
    ['no window', { login: { window_seconds: 0 } }],
    ['too long a window', { login: { window_seconds: 86_401 } }],
    ['an unknown field', { login: { burst: 5 } }],
    ['a wrong type', { login: { enabled: 'no' } }],
    ['null for a class', { login: null }],
    ['administration under 10 a minute', { admin_operations: { requests: 9 } }],
    ['administration under 10 a minute by its window', { admin_operations: { window_seconds: 601 } }],
  ])('refuses %s and changes nothing', async (_, bad) => {
    const { put, get, events } = await setUp();
    const before = await get();
    const answer = await put({ approvals: { requests: 1 }, ...bad });
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'invalid_request']);
    expect(await get()).toEqual(before);
    expect(await events()).toEqual([]);
  });

  test('accepts only classes', async () => {
    const { send, headers } = await setUp();
    const payload = { classes: {}, startup_penalty: { active: false } };
    expect((await send('PUT', URL, { headers, payload })).statusCode).toBe(400);
    expect((await send('PUT', URL, { headers, payload: {} })).statusCode).toBe(400);
  });

  test('accepts the bounds, and an empty change without an event', async () => {
    const { put, events } = await setUp();
    const bounds = { requests: 100_000, window_seconds: 86_400 };
    expect((await put({ approvals: bounds, admin_operations: { requests: 10 } })).statusCode).toBe(200);
    expect((await put({ approvals: bounds })).statusCode).toBe(200);
    expect((await put({})).statusCode).toBe(200);
    expect(await events()).toHaveLength(1);
  });

  test('stored budgets survive a restart and reach a replica; counters do not', async () => {
    const { put, platform, clock, send, headers } = await setUp();
    const replica = await createRateLimits({ platform, bootedAt: clock.now() - 60_000 });
    await put({ agent_checkin: { requests: 2 } });
    expect(replica.table().agent_checkin.requests).toBe(60);
    await replica.reload();
    expect(replica.table().agent_checkin.requests).toBe(2);
    const restarted = await createRateLimits({ platform, bootedAt: clock.now() });
    expect(restarted.table().agent_checkin.requests).toBe(2);
    expect(restarted.limiter.take('agent_checkin', 'a')).toMatchObject({ ok: true, limit: 1 });
    const reset = await send('POST', `${URL}/reset`, { headers });
    expect([reset.statusCode, reset.json().classes.agent_checkin.requests]).toEqual([200, 60]);
    await restarted.reload();
    expect(restarted.table().agent_checkin.requests).toBe(60);
  });

  test('counts against admin_operations itself', async () => {
    const { get, put } = await setUp();
    await put({ admin_operations: { requests: 10 } });
    const answers = [];
    for (let i = 0; i < 20; i++) answers.push(await get());
    expect(answers.filter((a) => a.code === 'rate_limited')).toHaveLength(11);
  });

  test('a stored row out of bounds is ignored with a warning', async () => {
    const { database, platform, clock } = await setUp();
    const row = { class: 'login', requests: 0, window_seconds: 60, enabled: 1, updated_at: 0 };
    await database.transact((tx) => tx.insertInto('rate_limits').values(row).execute());
    const limits = await createRateLimits({ platform, bootedAt: clock.now() });
    expect(limits.table().login.requests).toBe(10);
    expect(platform.lines.at(-1)).toContain('[WARN] stored rate limit ignored class=login');
  });
});
