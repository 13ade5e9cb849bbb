import { connect, type Socket } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PAGES } from './console/routes.ts';
import { DRAIN_MAX_BYTES } from './platform/http/unread-body.ts';
import { openClients } from './testing/app-clients.ts';
import { ENGINES } from './testing/engines.ts';
import { routesOf } from './testing/routes-of.ts';
import { createSliceApp } from './testing/slice-app.ts';
import { createTestPlatform } from './testing/test-platform.ts';

const [engine] = ENGINES;
if (!engine) throw new Error('SQLite is always there');
const NOBODY = '01900000-0000-7000-8000-00000000beef';
const JSON_TYPE = 'content-type: application/json';
const MIB = 1_048_576;

interface Heard {
  status: number;
  text: string;
  /** Settled when the server has closed the connection. */
  closed: Promise<void>;
  socket: Socket;
}

/** Sends these bytes and nothing more, and waits for the head of the answer. */
function say(base: string, bytes: string | Buffer): Promise<Heard> {
  const { promise, resolve, reject } = Promise.withResolvers<Heard>();
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(base).port) });
  onTestFinished(() => void socket.destroy());
  const closed = new Promise<void>((done) => socket.once('close', () => done()));
  let text = '';
  socket.on('error', reject);
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    resolve({ status: Number(text.slice(9, 12)), text, closed, socket });
  });
  socket.write(bytes);
  return promise;
}

function head(route: string, ...lines: string[]): string {
  const [method = '', path = ''] = route.split(' ');
  const url = path.replace(':ecosystem', 'apt').replace(/:\w+/g, NOBODY);
  return `${[`${method} ${url} HTTP/1.1`, 'host: x', ...lines].join('\r\n')}\r\n\r\n`;
}

describe('a refused body is never awaited', () => {
  test('every route answers an anonymous caller from the head alone, whatever length it declares', async () => {
    const { app, base } = await openClients(engine);
    const pages = new Set(PAGES.map((path) => `GET ${path}`));
    const routes = routesOf(app.http.printRoutes({ commonPrefix: false })).filter(
      (route) => !pages.has(route),
    );
    const answers: string[] = [];
    for (const route of [...routes, 'POST /nowhere', 'PUT /api/health']) {
      const { status } = await say(base, head(route, JSON_TYPE, 'content-length: 99999999'));
      answers.push(`${route}: ${status}`);
    }
    // The page that says why nobody is logged in.
    const refusedPages = ['GET /sign-in/:provider/callback: 403'];
    expect(answers.filter((answer) => !/: (401|404|405|413|200)$/.test(answer))).toEqual(refusedPages);
    expect(
      answers.filter((answer) => answer.endsWith(' 200')).every((answer) => answer.startsWith('GET ')),
    ).toBe(true);
    expect(answers.filter((answer) => answer.endsWith(' 413'))).toEqual([
      'POST /api/v1/agents/renew: 413',
      'POST /api/v1/auth/login: 413',
      'POST /api/v1/auth/login/passkey: 413',
      'POST /api/v1/auth/login/passkey/options: 413',
      'POST /api/v1/auth/login/provider: 413',
      'POST /api/v1/auth/setup: 413',
      'POST /logs/client-error: 413',
      'POST /setup/:secret: 413',
      'POST /sign-in/:provider/logout: 413',
    ]);
  });

  test.each([
    ['an unsupported media type', 'content-type: multipart/form-data; boundary=x', 415],
    ['an unsupported encoding', `${JSON_TYPE}\r\ncontent-encoding: br`, 415],
  ])('%s is refused from the head alone', async (_, line, status) => {
    const { base } = await openClients(engine);
    const answer = await say(base, head('POST /api/v1/auth/login', line, 'content-length: 4000'));
    expect(answer.status).toBe(status);
  });

  test.each([
    ['/api/v1/agents/renew', 'agent_renewal'],
    ['/api/v1/agents/register', 'agent_registration'],
    ['/api/v1/auth/login', 'login'],
    ['/api/v1/auth/setup', 'login'],
    ['/logs/client-error', 'client_errors'],
  ])('beyond the limit of its address %s is 429 from the head alone', async (path, limit) => {
    const { base, send, admin } = await openClients(engine);
    const one = { classes: { [limit]: { requests: 1, window_seconds: 60 } } };
    await send({ method: 'PUT', url: '/api/v1/admin/rate-limits', token: admin, body: one });
    const declared = head(`POST ${path}`, JSON_TYPE, 'content-length: 4000');
    const wrong = () => send({ method: 'POST', url: path, body: { wrong: 1 } });
    for (let i = 0; i < 60 && (await wrong()).status !== 429; i++);
    expect((await say(base, declared)).status).toBe(429);
  });
});

describe('the unread rest of a body', () => {
  test('closes the connection if it is large, after the client could read its answer', async () => {
    const { app, base } = await openClients(engine);
    const served = new Promise<Socket>((resolve) => app.http.server.once('connection', resolve));
    const start = head('POST /api/v1/updates/approve', JSON_TYPE, `content-length: ${8 * MIB}`);
    const answer = await say(base, Buffer.concat([Buffer.from(start), Buffer.alloc(8 * MIB, ' ')]));
    expect(answer.status).toBe(401);
    expect(answer.text.toLowerCase()).toContain('connection: close');
    await answer.closed;
    // At most the limit for draining, and the buffers in between.
    expect((await served).bytesRead).toBeLessThan(DRAIN_MAX_BYTES * 4);
  });

  test('in chunks closes it too, however little has arrived', async () => {
    const { base } = await openClients(engine);
    const answer = await say(base, `${head('POST /nowhere', 'transfer-encoding: chunked')}1\r\nx\r\n`);
    expect([answer.status, /connection: close/i.test(answer.text)]).toEqual([404, true]);
    await answer.closed;
  });

  test('keeps it open if it is small: the next request is answered over it', async () => {
    const { base } = await openClients(engine);
    const body = ' '.repeat(DRAIN_MAX_BYTES);
    const first = head('POST /api/v1/updates/approve', JSON_TYPE, `content-length: ${body.length}`);
    const answer = await say(base, first + body);
    expect(answer.status).toBe(401);
    const next = new Promise<string>((resolve) =>
      answer.socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1'))),
    );
    answer.socket.write(head('GET /api/health'));
    expect(await next).toContain(' 200 OK');
  });
});

describe('slow clients', () => {
  test.each([
    ['a body that does not come', head('POST /slow', JSON_TYPE, 'content-length: 10')],
    ['a head that does not end', 'POST /slow HTTP/1.1\r\nhost: x\r\n'],
    ['chunks that stop', `${head('POST /slow', JSON_TYPE, 'transfer-encoding: chunked')}1\r\n{\r\n`],
  ])('%s is 408, and the connection is closed', async (_, bytes) => {
    const platform = createTestPlatform(await engine.open());
    const app = createSliceApp(platform, { headersMs: 40, wholeMs: 40, checkMs: 10 });
    onTestFinished(() => app.close());
    app.route({
      method: 'POST',
      url: '/slow',
      config: { access: { kind: 'public', limit: 'login' } },
      handler: async () => 'never',
    });
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const { status, closed } = await say(base, bytes);
    expect(status).toBe(408);
    await closed;
  });
});

describe('compressed bodies', () => {
  const route = '/api/v1/agents/{own}/inventory/apt';

  test.each([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ])('%s beyond its ratio is 413 before it is complete', async (encoding, compress) => {
    const clients = await openClients(engine);
    const agent = await clients.enrol('machine-1');
    const bomb = compress(Buffer.alloc(7 * MIB, ' '));
    const answer = await fetch(clients.base + route.replace('{own}', agent.agentId), {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${agent.accessToken}`,
        'x-machine-id': agent.machineId,
        'content-type': 'application/json',
        'content-encoding': encoding,
      },
      body: new Uint8Array(bomb),
    });
    expect([answer.status, await answer.json()]).toEqual([
      413,
      expect.objectContaining({
        detail: 'The decompressed body may have at most 100 times the compressed size.',
      }),
    ]);
  });

  test('a frame of zstd whose window is larger than 8 MiB is refused', async () => {
    const { base } = await openClients(engine);
    // RFC 8878, section 3.1.1: no content size, a window of 2^27 bytes, one last raw block of one byte.
    const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, (27 - 10) << 3, 0x09, 0x00, 0x00, 0x20]);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'zstd' };
    const answer = await fetch(`${base}/api/v1/auth/login`, { method: 'POST', headers, body: frame });
    expect(await answer.json()).toMatchObject({ status: 400, detail: 'The body is not valid zstd.' });
  });
});
