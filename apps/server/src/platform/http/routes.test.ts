import { strict } from '@tidegate/protocol/scalars';
import Fastify from 'fastify';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createSliceApp } from '../../testing/slice-app.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';
import type { OperatorAccess } from './access.ts';
import { createRoutes } from './create-routes.ts';
import type { Routes } from './routes.ts';

const [engine] = ENGINES;
if (!engine) throw new Error('SQLite is always there');
const openDatabase = () => engine.open();
const schema = { summary: 'For this test', tags: ['test'] };
const access: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'none' };
const Name = strict({ name: Type.String() });

async function openApp() {
  const app = createSliceApp(createTestPlatform(await openDatabase()));
  onTestFinished(() => app.close());
  return app;
}

test.each(['public', 'anyone', 'own', 'agent', 'operator'] as const)(
  'a handler of kind %s never runs for a request that no guard has admitted',
  async (kind) => {
    const app = Fastify().decorateRequest('caller', null);
    onTestFinished(() => app.close());
    const routes = createRoutes(app);
    let calls = 0;
    const route = {
      ...{ method: 'GET' as const, url: '/api/v1/agents/:agent_id/x' as const, schema },
      handler: async () => {
        calls++;
      },
    };
    const mount: Readonly<Record<typeof kind, () => void>> = {
      public: () => routes.public({ ...route, access: { limit: 'public_access' } }),
      anyone: () => routes.anyone({ ...route, access: { limit: 'client_errors' } }),
      own: () =>
        routes.own({
          ...route,
          access: { limit: 'agent_renewal', counts: 'requests', credential: 'refresh token' },
        }),
      agent: () => routes.agent({ ...route, access: { limit: 'agent_reports' } }),
      operator: () => routes.operator({ ...route, access }),
    };
    mount[kind]();
    const { statusCode } = await app.inject({ url: '/api/v1/agents/x/x' });
    expect([statusCode, calls]).toEqual([500, 0]);
  },
);

describe('a handler', () => {
  test('gets the caller and the parts that its schemas name, and answers with the first success', async () => {
    const app = await openApp();
    app.routes.operator({
      ...{ method: 'POST', url: '/hello/:name', access },
      schema: {
        ...schema,
        params: Name,
        body: Name,
        querystring: Name,
        response: { 201: Type.Array(Type.String()) },
      },
      handler: async ({ operator, params, body, query }) => [
        operator.username,
        params.name,
        body.name,
        query.name,
      ],
    });
    const asked = { method: 'POST' as const, headers: { 'x-test-operator': 'ada' } };
    const answer = await app.inject({ ...asked, url: '/hello/a?name=c', payload: { name: 'b' } });
    expect([answer.statusCode, answer.json()]).toEqual([201, ['ada', 'a', 'b', 'c']]);
  });

  test('does not run where a part is not valid: params are judged first, then the body, then the query', async () => {
    const app = await openApp();
    const Short = strict({ name: Type.String({ maxLength: 1 }) });
    app.routes.operator({
      ...{ method: 'POST', url: '/hello/:name', access },
      schema: { ...schema, params: Short, body: Short, querystring: Short },
      handler: async () => {
        throw new Error('ran');
      },
    });
    const faultOf = async (path: string, body: string, query: string) => {
      const answer = await app.inject({
        method: 'POST',
        url: `/hello/${path}?name=${query}`,
        payload: { name: body },
      });
      return [answer.statusCode, answer.json().errors?.[0].path];
    };
    expect(await faultOf('aa', 'bb', 'cc')).toEqual([400, 'params/name']);
    expect(await faultOf('a', 'bb', 'cc')).toEqual([400, '/name']);
    expect(await faultOf('a', 'b', 'cc')).toEqual([400, 'querystring/name']);
    expect(await faultOf('a', 'b', 'c')).toEqual([500, undefined]);
  });

  test('without a response answers 204 and no body', async () => {
    const app = await openApp();
    app.routes.operator({ method: 'DELETE', url: '/it', access, schema, handler: async () => {} });
    const answer = await app.inject({ method: 'DELETE', url: '/it' });
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
  });
});

/** Never called: tsc checks that each of these is a mistake. */
export function declareMistakes(routes: Routes): void {
  const route = { method: 'GET', url: '/x', schema } as const;
  const handler = async () => {};
  // @ts-expect-error a route without an access
  routes.operator({ ...route, handler });
  // @ts-expect-error an operator's route that does not say what it reaches
  routes.operator({ ...route, access: { role: 'viewer', limit: 'admin_reads' }, handler });
  // @ts-expect-error the path names no agent
  routes.agent({ ...route, access: { limit: 'agent_reports' }, handler });
  // @ts-expect-error a public route has no operator
  routes.public({ ...route, access: { limit: 'login' }, handler: async ({ operator }) => void operator });
  // @ts-expect-error a route without a response answers nothing
  routes.operator({ ...route, access, handler: async () => ({ name: 'x' }) });
  routes.operator({
    ...{ ...route, access, schema: { ...schema, response: { 200: Name } } },
    // @ts-expect-error not what the response says
    handler: async () => ({ name: 1 }),
  });
  // @ts-expect-error nothing is typed that no schema checks
  routes.operator({ ...route, access, handler: async ({ body }) => void body.name });
}
