import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { mountViews } from './routes.ts';

describe.each(ENGINES)('saved views on $name', (engine) => {
  async function setUp() {
    const platform = createTestPlatform(await engine.open());
    const app = createSliceApp(platform);
    mountViews(app.routes, { platform });
    onTestFinished(() => app.close());
    async function call(method: 'GET' | 'POST' | 'DELETE', path = '', payload?: object, groups?: string) {
      const headers = groups === undefined ? {} : { 'x-test-groups': groups };
      const url = `/api/v1/views${path}`;
      const answer = await app.inject({ method, url, headers, ...(payload && { payload }) });
      return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
    }
    return { platform, call };
  }
  const VIEW = {
    name: 'Known to be exploited',
    page: 'updates',
    query: { exploited: 'true', sort: 'exploited' },
  };

  test('are saved, listed and deleted', async () => {
    const { call } = await setUp();
    const { status, body } = await call('POST', '', VIEW);
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ ...VIEW, shared: false, own: true, created_by: 'ada' }),
    ]);
    expect((await call('GET')).body).toEqual({ items: [body], next_cursor: null, total: 1 });
    expect((await call('POST', '', VIEW)).status).toBe(409);
    expect((await call('POST', '', { ...VIEW, page: 'packages', query: {} })).status).toBe(201);
    expect((await call('DELETE', `/${body.id}`)).status).toBe(204);
    expect((await call('DELETE', `/${body.id}`)).status).toBe(404);
    expect((await call('GET')).body.total).toBe(1);
  });

  test.each([
    ['a filter of another page', { ...VIEW, page: 'hosts' }],
    ['a sort of another page', { ...VIEW, query: { sort: 'pending_updates' } }],
    ['a value that the list refuses', { ...VIEW, query: { state: 'new' } }],
    ['a page without views', { ...VIEW, page: 'events' }],
    ['no name', { ...VIEW, name: ' ' }],
    ['a long name', { ...VIEW, name: 'x'.repeat(65) }],
  ])('%s is 400 and names the allowed values', async (_, view) => {
    const { call } = await setUp();
    const { status, body } = await call('POST', '', view);
    expect(status).toBe(400);
    expect(body.errors.length).toBeGreaterThan(0);
  });

  test('are at most 100 for an operator', async () => {
    const { call } = await setUp();
    for (let n = 0; n < 100; n++)
      expect((await call('POST', '', { ...VIEW, name: `view ${n}` })).status).toBe(201);
    expect((await call('POST', '', VIEW)).body).toMatchObject({
      code: 'conflict',
      detail: expect.stringMatching(/100/),
    });
  });

  test('shared ones are only for operators of the whole fleet', async () => {
    const { call } = await setUp();
    const { body } = await call('POST', '', { ...VIEW, shared: true });
    expect(body.shared).toBe(true);
    expect((await call('POST', '', { ...VIEW, name: 'x', shared: true }, 'web')).status).toBe(403);
    expect((await call('DELETE', `/${body.id}`, undefined, 'web')).status).toBe(403);
    expect((await call('DELETE', `/${body.id}`)).status).toBe(204);
  });
});
