import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { encodeCursor } from './platform/http/lists.ts';
import { encodePosition } from './platform/http/sorted-lists.ts';
import { ENGINES, type TestEngine } from './testing/engines.ts';
import { createTestApp, type TestApp } from './testing/test-app.ts';

const LISTS = [
  '/api/v1/agents',
  '/api/v1/updates',
  '/api/v1/packages',
  '/api/v1/updates/by-host',
  '/api/v1/commands',
  '/api/v1/events',
  '/api/v1/admin/registration-tokens',
  '/api/v1/admin/signing-keys',
  '/api/v1/admin/operators',
  '/api/v1/admin/sessions',
  '/api/v1/admin/age-exceptions',
  '/api/v1/admin/vex-statements',
  '/api/v1/auth/sessions',
];

interface Answer {
  statusCode: number;
  headers: Record<string, unknown>;
  json: () => unknown;
}

/** RFC 9457, as in docs/protocol/errors.md, with the request's id in header and body. */
function expectProblem(answer: Answer, { status, code }: { status: number; code: string }): void {
  const requestId: unknown = answer.headers['x-request-id'];
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect({ status: answer.statusCode, body: answer.json() }).toEqual({
    status,
    body: expect.objectContaining({
      type: 'about:blank',
      title: expect.any(String),
      status,
      code,
      detail: expect.any(String),
      request_id: requestId,
    }),
  });
}

async function openApp(engine: TestEngine): Promise<{ app: TestApp; authorization: string }> {
  const app = await createTestApp(engine);
  const authorization = `Bearer ${await app.adminToken()}`;
  // After the start-up penalty: the limits have their own tests.
  app.platform.clock.advance(61_000);
  return { app, authorization };
}

describe.each(ENGINES)('lists on $name', (engine) => {
  test('refuse texts that no column can hold, invalid times, and cursors of other lists', async () => {
    const { app, authorization } = await openApp(engine);
    const queries = [
      ...['q', 'name', 'type', 'component', 'os', 'group'].map((name) => `${name}=a%00b`),
      'since=2026-02-31T00:00:00Z',
      'until=2026-99-01T00:00:00Z',
      'since=2026-01-01T24:00:00Z',
      ...[['\0'], ['a\0', 'b\0'], ['\ud800'], [1.5], [1e300], [null], [{}], [1, 2, 3]].map(
        (values) => `cursor=${encodeCursor(JSON.parse(JSON.stringify(values)))}`,
      ),
      'cursor=AAAA',
      'limit=1&limit=2',
      'limit=-1',
      'no_such_parameter=1',
    ];
    for (const list of LISTS) {
      for (const query of queries) {
        const answer = await app.http.inject({ url: `${list}?${query}`, headers: { authorization } });
        expectProblem(answer, { status: 400, code: 'invalid_request' });
      }
    }
  });

  test.each([
    ['/api/v1/agents', 'status', 1],
    ['/api/v1/agents', '-last_seen_at', 1],
    ['/api/v1/updates', 'severity', 1],
    ['/api/v1/updates', 'exploited', 2],
    ['/api/v1/updates', 'urgency', 2],
    ['/api/v1/vulnerabilities', '-urgency', 1],
    ['/api/v1/vulnerabilities', 'hosts', 1],
    ['/api/v1/unfixed', '-urgency', 2],
    ['/api/v1/updates/by-host', 'urgency', 4],
    ['/api/v1/updates/by-host', 'updates', 1],
  ])(
    'a made-up cursor of %s by %s with numbers that no column can hold is no fault of the server',
    async (url, sort, parts) => {
      const { app, authorization } = await openApp(engine);
      for (const number of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
        const position = { key: Array(parts).fill(number), id: 'x' };
        const cursor = encodePosition({ sort, filter: {}, key: [] }, position);
        const answer = await app.http.inject({
          url: `${url}?sort=${sort}&cursor=${cursor}`,
          headers: { authorization },
        });
        expect([answer.statusCode, answer.body]).toEqual([200, expect.stringContaining('"items":[]')]);
      }
    },
  );

  test('a text cursor is invalid for events, which are sorted by number', async () => {
    const { app, authorization } = await openApp(engine);
    const url = `/api/v1/events?cursor=${encodeCursor(['x'])}`;
    const answer = await app.http.inject({ url, headers: { authorization } });
    expectProblem(answer, { status: 400, code: 'invalid_request' });
  });
});

const [sqlite] = ENGINES;

describe('paths', () => {
  test('an unknown path is 404 with or without a credential, whatever the body contains', async () => {
    const { app, authorization } = await openApp(engineOf(sqlite));
    const json = { 'content-type': 'application/json' };
    const requests = [
      { method: 'GET', url: '/nothing' },
      { method: 'GET', url: '/nothing', headers: { authorization } },
      { method: 'POST', url: '/nothing', headers: json, payload: '{broken' },
      { method: 'POST', url: '/nothing', headers: { ...json, 'content-encoding': 'br' }, payload: '{}' },
      { method: 'POST', url: '/nothing', headers: { 'content-type': 'text/xml' }, payload: '<a/>' },
      { method: 'GET', url: '/api/health/' },
      { method: 'GET', url: '/api//health' },
      { method: 'GET', url: '/API/health' },
      { method: 'GET', url: '/api/health;x' },
      { method: 'GET', url: '/api/v1/agents/..%2f..%2f..%2fetc%2fpasswd/no' },
      { method: 'GET', url: '/setup/..%2f..%2fetc%2fpasswd' },
    ] as const;
    for (const request of requests) {
      expectProblem(await app.http.inject(request), { status: 404, code: 'not_found' });
    }
  });

  test.each(['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'] as const)(
    'a known path without %s is 405 and lists the allowed methods',
    async (method) => {
      const { app } = await openApp(engineOf(sqlite));
      const answer = await app.http.inject({ method, url: '/api/health' });
      expect(answer.headers.allow).toBe('GET');
      expect(answer.statusCode).toBe(405);
      if (method !== 'HEAD') expectProblem(answer, { status: 405, code: 'method_not_allowed' });
    },
  );
});

describe('bodies', () => {
  const json = { 'content-type': 'application/json' };
  const credentials = { username: 'admin', password: 'wrong horse battery' };
  const text = JSON.stringify(credentials);
  const manyKeys = `{${Array.from({ length: 300 }, (_, n) => `"k${n}":1`).join(',')}}`;
  const deep = `${'['.repeat(33)}${']'.repeat(33)}`;
  const rows = [
    ['an unknown field', JSON.stringify({ ...credentials, admin: true }), json, 400, 'invalid_request'],
    ['a duplicate key', `{"username":"a",${text.slice(1)}`, json, 400, 'invalid_request'],
    [
      'a key that is a duplicate once unescaped',
      `{"usern\\u0061me":"a",${text.slice(1)}`,
      json,
      400,
      'invalid_request',
    ],
    ['a wrong type', '{"username":1,"password":"x"}', json, 400, 'invalid_request'],
    ['a missing field', '{"username":"a"}', json, 400, 'invalid_request'],
    ['__proto__', `{"__proto__":{"a":1},${text.slice(1)}`, json, 400, 'invalid_request'],
    ['null', 'null', json, 400, 'invalid_request'],
    ['nothing', '', json, 400, 'invalid_request'],
    ['nesting beyond the limit', `{"username":${deep},"password":"x"}`, json, 400, 'invalid_request'],
    ['three thousand arrays', '['.repeat(3_000), json, 400, 'invalid_request'],
    ['sixty thousand arrays', '['.repeat(60_000), json, 413, 'payload_too_large'],
    ['more keys than the route takes', manyKeys, json, 400, 'invalid_request'],
    ['U+0000', '{"username":"a\\u0000","password":"x"}', json, 400, 'invalid_request'],
    ['an unpaired surrogate', '{"username":"a","password":"\\ud800"}', json, 400, 'invalid_request'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), json, 400, 'invalid_request'],
    ['a byte order mark', `\ufeff${text}`, json, 400, 'invalid_request'],
    ['another media type', text, { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    [
      'a form',
      'username=a',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    ['an unknown encoding', text, { ...json, 'content-encoding': 'br' }, 415, 'unsupported_media_type'],
    ['two encodings', text, { ...json, 'content-encoding': 'gzip, gzip' }, 415, 'unsupported_media_type'],
    ['plain bytes declared as gzip', text, { ...json, 'content-encoding': 'gzip' }, 400, 'invalid_request'],
    [
      'more bytes than the route takes',
      JSON.stringify({ ...credentials, password: 'x'.repeat(70_000) }),
      json,
      413,
      'payload_too_large',
    ],
    ['more bytes than any route takes', 'x'.repeat(1_048_577), json, 413, 'payload_too_large'],
    [
      'a gzip bomb',
      gzipSync(Buffer.alloc(50_000_000, 0x20)),
      { ...json, 'content-encoding': 'gzip' },
      413,
      'payload_too_large',
    ],
  ] as const;

  test('that the route does not accept are refused, each with its code', async () => {
    const { app } = await openApp(engineOf(sqlite));
    for (const [what, payload, headers, status, code] of rows) {
      const answer = await app.http.inject({ method: 'POST', url: '/api/v1/auth/login', headers, payload });
      expect([what, answer.statusCode]).toEqual([what, status]);
      expectProblem(answer, { status, code });
      // The login limit counts refused bodies too.
      app.platform.clock.advance(61_000);
    }
  });
});

describe('routes without a body or query refuse them', () => {
  test.each([
    ['GET', '/api/health?x=1', undefined],
    ['GET', '/api/v1/auth/session?x', undefined],
    ['GET', '/api/openapi.json?x=1', undefined],
    ['GET', '/setup/secret?x=1', undefined],
    ['GET', '/api/v1/admin/rate-limits?limit=1', undefined],
    ['POST', '/api/v1/admin/rate-limits/reset?x=1', undefined],
    ['POST', '/api/v1/admin/rate-limits/reset', { x: 1 }],
    ['POST', '/api/v1/admin/rate-limits/reset', []],
    ['POST', '/api/v1/auth/logout?x=1', undefined],
    ['POST', '/api/v1/auth/logout', { x: 1 }],
    ['POST', '/api/v1/auth/login?x=1', { username: 'admin', password: 'correct horse battery' }],
    ['DELETE', '/api/v1/agents/01900000-0000-7000-8000-ffffffffffff', { x: 1 }],
    ['DELETE', '/api/v1/agents/01900000-0000-7000-8000-ffffffffffff?x=1', undefined],
  ] as const)('%s %s %j is 400', async (method, url, payload) => {
    const { app, authorization } = await openApp(engineOf(sqlite));
    const body = payload === undefined ? {} : { payload: JSON.stringify(payload) };
    const headers = {
      authorization,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const answer = await app.http.inject({ method, url, headers, ...body });
    expectProblem(answer, { status: 400, code: 'invalid_request' });
  });

  test.each([[undefined], ['{}']])('and accept an absent or empty body: %s', async (payload) => {
    const { app, authorization } = await openApp(engineOf(sqlite));
    const headers = {
      authorization,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const sent = payload === undefined ? {} : { payload };
    const reset = { method: 'POST', url: '/api/v1/admin/rate-limits/reset', headers, ...sent } as const;
    expect((await app.http.inject(reset)).statusCode).toBe(200);
    const logout = { method: 'POST', url: '/api/v1/auth/logout', headers, ...sent } as const;
    expect((await app.http.inject(logout)).statusCode).toBe(204);
  });
});

function engineOf(engine: TestEngine | undefined): TestEngine {
  if (!engine) throw new Error('SQLite is always there');
  return engine;
}

test.each(ENGINES.slice(0, 1))(
  'a media type without a body counts as no body: accepted if none is needed, refused if one is',
  async (engine) => {
    const app = await createTestApp(engine);
    const headers = { authorization: `Bearer ${await app.adminToken()}`, 'content-type': 'application/json' };
    const post = (url: string) => app.http.inject({ method: 'POST', url, headers, payload: '' });
    expect((await post('/api/v1/admin/registration-tokens')).statusCode).toBe(400);
    expect((await post('/api/v1/auth/logout')).statusCode).toBe(204);
  },
);
