import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { createSelfSigned } from '@tidegate/testkit/certificates';
import { runTool } from '@tidegate/testkit/run-tool';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openClients } from '../../../apps/server/src/testing/app-clients.ts';
import { ENGINES } from '../../../apps/server/src/testing/engines.ts';
import { type ClientOptions, createClient, REQUESTS_MAX, WAIT_MAX_MS } from './client.ts';
import { urlOf } from './request-url.ts';

const [engine] = ENGINES;
const ROOT = join(import.meta.dirname, '../../..');

async function openServer() {
  if (!engine) throw new Error('SQLite is always there');
  return openClients(engine);
}

function open(options: ClientOptions) {
  const client = createClient(options);
  onTestFinished(() => client.close());
  return client;
}

/** A server that answers as the test says, one answer for each request. */
async function answering(...answers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const urls: string[] = [];
  const server = createServer((request, response) => {
    urls.push(request.url ?? '');
    (answers[urls.length - 1] ?? answers.at(-1))?.(request, response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${portOf(server.address())}`, urls };
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function json(body: unknown, { status = 200, type = 'application/json; charset=utf-8', headers = {} } = {}) {
  return (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(JSON.stringify(body));
  };
}

function problem(status: number, code: string, headers = {}) {
  const body = { type: 'about:blank', title: 'x', status, code, detail: 'x', request_id: 'x' };
  return json(body, { status, type: 'application/problem+json', headers });
}

const page = (names: readonly string[], next_cursor: string | null) =>
  json({ items: names.map((hostname) => ({ hostname })), next_cursor, total: names.length });

describe('with a real server', () => {
  test('the example of the README lists the hosts of a group', async () => {
    const { base, admin, enrol, send } = await openServer();
    const { agentId } = await enrol('machine-1');
    const url = `/api/v1/agents/${agentId}`;
    expect((await send({ method: 'PATCH', url, token: admin, body: { group: 'web' } })).status).toBe(200);
    const example = /```ts\n([\s\S]*?)```/.exec(
      readFileSync(join(ROOT, 'packages/client/README.md'), 'utf8'),
    );
    using folder = tmpDir('tidegate-client-');
    mkdirSync(join(folder.path, 'node_modules'));
    symlinkSync(join(ROOT, 'node_modules/@tidegate'), join(folder.path, 'node_modules/@tidegate'));
    writeFileSync(join(folder.path, 'example.ts'), example?.[1] ?? '');
    writeFileSync(join(folder.path, 'package.json'), '{ "type": "module" }');
    const env = { TIDEGATE_URL: base, TIDEGATE_TOKEN: admin };
    const said = await runTool(process.execPath, [join(folder.path, 'example.ts')], { env });
    expect(said).toMatch(/^\S+ bound\n$/);
  });

  test('a call is typed by its operation, and a refusal has a code of the document', async () => {
    const { base, admin, viewer, enrol } = await openServer();
    const { agentId: agent_id } = await enrol('machine-1');
    const client = open({ baseUrl: base, token: admin });
    const found = await client.call('GET /api/v1/agents/{agent_id}', { path: { agent_id } });
    expect(found).toMatchObject({ ok: true, status: 200, body: { id: agent_id, status: 'bound' } });
    const absent = await client.call('GET /api/v1/agents/{agent_id}', { path: { agent_id: 'no/../such' } });
    expect(absent).toMatchObject({ ok: false, fault: { kind: 'refused', code: 'not_found' } });
    const body = { reason: 'lost' };
    const asked = { path: { agent_id }, body };
    const refused = await open({ baseUrl: base, token: viewer }).call(
      'POST /api/v1/agents/{agent_id}/revoke',
      asked,
    );
    expect(refused).toMatchObject({ ok: false, fault: { code: 'forbidden', problem: { status: 403 } } });
    expect(await client.call('POST /api/v1/agents/{agent_id}/revoke', asked)).toMatchObject({ ok: true });
  });
});

describe('429', () => {
  test('is repeated after Retry-After', async () => {
    const waits: number[] = [];
    const server = await answering(problem(429, 'rate_limited', { 'retry-after': '2' }), page(['a'], null));
    const client = open({ ...server, wait: async (ms) => void waits.push(ms) });
    expect(await client.call('GET /api/v1/agents', {})).toMatchObject({ ok: true, status: 200 });
    expect([waits, server.urls.length]).toEqual([[2_000], 2]);
  });

  test('is returned after so many requests, or where the wait would be longer than the client takes on', async () => {
    const limited = { ok: false, fault: { kind: 'refused', code: 'rate_limited' } };
    const often = await answering(problem(429, 'rate_limited', { 'retry-after': '1' }));
    const wait = async () => {};
    expect(await open({ ...often, wait }).call('GET /api/v1/agents', {})).toMatchObject(limited);
    expect(often.urls).toHaveLength(REQUESTS_MAX);
    const long = await answering(
      problem(429, 'rate_limited', { 'retry-after': String(WAIT_MAX_MS / 1_000 + 1) }),
    );
    expect(await open({ ...long, wait }).call('GET /api/v1/agents', {})).toMatchObject(limited);
    expect(long.urls).toHaveLength(1);
  });

  test('is not waited for past the time of the call', async () => {
    const server = await answering(problem(429, 'rate_limited', { 'retry-after': '20' }));
    const outcome = await open({ ...server, timeoutMs: 50 }).call('GET /api/v1/agents', {});
    expect(outcome).toMatchObject({ fault: { kind: 'timeout' } });
  });
});

describe('what is no answer of the operation', () => {
  test.each([
    ['a page of a proxy', json('<html>', { type: 'text/html' })],
    ['a refusal of a proxy', json({ error: 'no' }, { status: 502 })],
    ['a redirect', json({}, { status: 302, headers: { location: 'http://127.0.0.1:9/' } })],
    ['an answer without its members', json({ items: [] })],
    ['no JSON', json(undefined)],
  ])('%s is not_tidegate', async (_, answer) => {
    const server = await answering(answer);
    const outcome = await open(server).call('GET /api/v1/agents', {});
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'not_tidegate' } });
    expect(server.urls).toHaveLength(1);
  });

  test('text that is no JSON is not_tidegate also where the document names no member', async () => {
    const server = await answering(json(undefined));
    const asked = { query: { format: 'openvex' } } as const;
    const outcome = await open(server).call('GET /api/v1/admin/vex-document', asked);
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'not_tidegate' } });
  });

  test('a code of a newer server is kept apart', async () => {
    const server = await answering(problem(409, 'not_invented_yet'));
    const outcome = await open(server).call('GET /api/v1/agents', {});
    expect(outcome).toMatchObject({
      fault: { kind: 'refused_otherwise', problem: { code: 'not_invented_yet' } },
    });
  });

  test('nobody there is unreachable, and no answer in time a timeout', async () => {
    const gone = createSocketServer();
    await new Promise<void>((listening) => gone.listen(0, '127.0.0.1', listening));
    const baseUrl = `http://127.0.0.1:${portOf(gone.address())}`;
    await new Promise((closed) => gone.close(closed));
    expect(await open({ baseUrl }).call('GET /api/health', {})).toMatchObject({
      fault: { kind: 'unreachable' },
    });
    const silent = await answering(() => {});
    const late = await open({ ...silent, timeoutMs: 50 }).call('GET /api/health', {});
    expect(late).toMatchObject({ fault: { kind: 'timeout' } });
  });

  test('a certificate is trusted by its own authority alone', async () => {
    const pair = await createSelfSigned(['localhost']);
    const server = await listenWithTls(pair, page(['a'], null));
    onTestFinished(server.stop);
    const { cert: ca } = pair;
    const baseUrl = `https://localhost:${server.port}`;
    expect(await open({ baseUrl, ca }).call('GET /api/v1/agents', {})).toMatchObject({ ok: true });
    expect(await open({ baseUrl }).call('GET /api/v1/agents', {})).toMatchObject({
      fault: { kind: 'unreachable' },
    });
  });
});

describe('a list', () => {
  const pages = [page(['a', 'b'], 'x y'), page(['c', 'd'], 'z'), page(['e'], null)];

  test('is gathered page by page', async () => {
    const server = await answering(...pages);
    const gathered = await open(server).list('GET /api/v1/agents', { query: { group: 'web' } });
    expect(gathered).toEqual({
      ok: true,
      items: [...'abcde'].map((hostname) => ({ hostname })),
      answer: { items: [...'abcde'].map((hostname) => ({ hostname })), next_cursor: null, total: 1 },
      isWhole: true,
    });
    expect(server.urls.map((url) => url.split('?')[1])).toEqual([
      'limit=200&group=web',
      'limit=200&group=web&cursor=x+y',
      'limit=200&group=web&cursor=z',
    ]);
  });

  test('stops at its limit and says so', async () => {
    const server = await answering(...pages);
    const gathered = await open(server).list('GET /api/v1/agents', {}, { itemsMax: 3 });
    expect(gathered).toMatchObject({
      items: [{ hostname: 'a' }, { hostname: 'b' }, { hostname: 'c' }],
      isWhole: false,
    });
    expect(server.urls.map((url) => url.split('?')[1])).toEqual(['limit=3', 'limit=1&cursor=x+y']);
  });

  test('ends with the refusal of a page', async () => {
    const server = await answering(page(['a'], 'x'), problem(401, 'access_token_expired'));
    const gathered = await open(server).list('GET /api/v1/agents', {});
    expect(gathered).toMatchObject({ ok: false, fault: { code: 'access_token_expired' } });
  });
});

describe('a file', () => {
  const as = (accept = 'text/csv') => {
    const pieces: string[] = [];
    return { accept, take: (piece: string) => void pieces.push(piece), pieces };
  };
  const csv =
    (end: (response: ServerResponse) => void) => (request: IncomingMessage, response: ServerResponse) => {
      expect(request.headers.accept).toBe('text/csv, application/problem+json');
      response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' });
      end(response);
    };

  test('is passed on as it arrives', async () => {
    const server = await answering(csv((response) => response.end('id\r\né\r\n')));
    const form = as();
    expect(await open(server).file('GET /api/v1/agents', { query: { group: 'web' } }, form)).toEqual({
      ok: true,
    });
    expect([form.pieces.join(''), server.urls]).toEqual(['id\r\né\r\n', ['/api/v1/agents?group=web']]);
  });

  test('that breaks off is a fault', async () => {
    const server = await answering(csv((response) => response.write('id\r\n', () => response.destroy())));
    const taken = await open(server).file('GET /api/v1/agents', {}, as());
    expect(taken).toMatchObject({ ok: false, fault: { kind: 'unreachable' } });
  });

  test('is a refusal where the server refuses, and none where it answers in another form', async () => {
    const server = await answering(problem(403, 'forbidden'), page(['a'], null));
    const client = open(server);
    const first = await client.file('GET /api/v1/agents', {}, as());
    expect(first).toMatchObject({ ok: false, fault: { kind: 'refused', code: 'forbidden' } });
    const second = await client.file('GET /api/v1/agents', {}, as());
    const detail = 'the answer is not text/csv';
    expect(second).toEqual({ ok: false, fault: { kind: 'not_tidegate', status: 200, detail } });
  });
});

describe('the address of a call', () => {
  test('escapes what it is given, and keeps the path of the server', () => {
    const given = { path: { id: 'a/b?c' }, query: { q: 'x&y', absent: undefined } };
    expect(urlOf('https://t.example/sub/', 'GET /api/v1/events/{id}', given)).toEqual({
      method: 'GET',
      url: 'https://t.example/sub/api/v1/events/a%2Fb%3Fc?q=x%26y',
    });
  });

  test.each(['', '.', '..'])('refuses %j in a path, which would name another one', (id) => {
    expect(() => urlOf('https://t.example', 'DELETE /api/v1/views/{id}', { path: { id } })).toThrow(
      'of the path is',
    );
  });
});
