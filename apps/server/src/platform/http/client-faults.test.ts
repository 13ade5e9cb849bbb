import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createTestApp, type TestApp } from '../../testing/test-app.ts';
import { isAwaited } from './client-faults.ts';

const [engine] = ENGINES;
if (!engine) throw new Error('SQLite is always there');
const HOST = 'Host: x\r\nConnection: close\r\n';
const JSON_HEAD = `POST /api/v1/auth/login HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;

async function listening(): Promise<{ app: TestApp; port: number }> {
  if (!engine) throw new Error('SQLite is always there');
  const app = await createTestApp(engine, { host: '127.0.0.1', port: 0 });
  return { app, port: Number(new URL(await app.listen()).port) };
}

/** Everything that the server says to these bytes until it hangs up. */
async function say(port: number, text: string): Promise<{ status: number; head: string; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  let heard = '';
  socket.setEncoding('utf8').on('data', (data) => {
    heard += data;
  });
  socket.on('close', () => resolve(heard));
  socket.on('error', reject);
  const [head = '', body = ''] = (await promise).split('\r\n\r\n', 2);
  return { status: Number(head.split(' ')[1]), head, body };
}

async function expectProblem(
  text: string,
  { status, code }: { status: number; code: string },
): Promise<void> {
  const { app, port } = await listening();
  const answer = await say(port, text);
  const requestId = /^x-request-id: ([0-9a-f-]{36})$/im.exec(answer.head)?.[1];
  expect(answer.head.toLowerCase()).toContain('content-type: application/problem+json');
  expect([answer.status, JSON.parse(answer.body)]).toEqual([
    status,
    {
      type: 'about:blank',
      title: expect.any(String),
      status,
      code,
      detail: expect.any(String),
      request_id: requestId,
    },
  ]);
  expect(app.platform.lines.filter((line) => line.startsWith('[ERROR]'))).toEqual([]);
  expect((await fetch(`http://127.0.0.1:${port}/api/health`)).status).toBe(200);
}

describe('HTTP that is none', () => {
  test.each([
    ['no request line', 'GARBAGE\r\n\r\n', 400, 'invalid_request'],
    ['another version', 'GET / HTTP/9.9\r\n\r\n', 400, 'invalid_request'],
    ['a path that does not decode', `GET /% HTTP/1.1\r\n${HOST}\r\n`, 400, 'invalid_request'],
    ['an unknown method', `FOO /api/health HTTP/1.1\r\n${HOST}\r\n`, 400, 'invalid_request'],
    [
      'two lengths (smuggling)',
      `POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'invalid_request',
    ],
    ['a bad chunk', `${JSON_HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400, 'invalid_request'],
    [
      'headers past 16 KiB',
      `GET / HTTP/1.1\r\n${HOST}X: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
      'invalid_request',
    ],
    ['a path past 16 KiB', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, 431, 'invalid_request'],
    ['a length past the limit', `${JSON_HEAD}Content-Length: 2000000\r\n\r\n`, 413, 'payload_too_large'],
    ['a method with a body and none', `QUERY /api/health HTTP/1.1\r\n${HOST}\r\n`, 405, 'method_not_allowed'],
    [
      'a query past 8 KiB',
      `GET /api/health?${'a=1&'.repeat(2_100)} HTTP/1.1\r\n${HOST}\r\n`,
      400,
      'invalid_request',
    ],
    ['no Host', 'GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
    ['two Hosts', `GET /api/health HTTP/1.1\r\n${HOST}Host: evil.example\r\n\r\n`, 400, 'invalid_request'],
    ['the same Host twice', `GET /api/health HTTP/1.1\r\n${HOST}HOST: x\r\n\r\n`, 400, 'invalid_request'],
  ])('%s is a problem with a request id, and no error in the log', async (_, text, status, code) => {
    await expectProblem(text, { status, code });
  });

  test.each([
    'Authorization: Bearer a',
    'X-Machine-ID: a',
    'Content-Type: application/json',
    'Content-Encoding: gzip',
    'Content-Length: 0',
    'Origin: http://x',
    'X-CSRF-Token: a',
  ])('the header %s, which decides, is refused where it is given twice', async (line) => {
    const text = `GET /api/health HTTP/1.1\r\n${HOST}${line}\r\n${line}\r\n\r\n`;
    await expectProblem(text, { status: 400, code: 'invalid_request' });
  });

  test('a client that hangs up within a body leaves no error in the log', async () => {
    const { app, port } = await listening();
    const closed = Promise.withResolvers<void>();
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${JSON_HEAD}Content-Length: 1000\r\n\r\n{"username":`, () => socket.destroy());
    });
    socket.on('close', () => closed.resolve());
    await closed.promise;
    await expect.poll(() => app.platform.lines.join('\n')).toContain('request given up by its client');
    expect(app.platform.lines.filter((line) => line.startsWith('[ERROR]'))).toEqual([]);
  });

  test('a request that does not come in time is 408', async () => {
    const { app, port } = await listening();
    app.http.server.once('connection', (socket) => {
      // What Node says when requestTimeout has passed, without the half minute.
      const late = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      socket.once('data', () => app.http.server.emit('clientError', late, socket));
    });
    const answer = await say(port, 'POST /api/v1/auth/login HTTP/1.1\r\n');
    expect([answer.status, JSON.parse(answer.body)]).toEqual([408, expect.objectContaining({ status: 408 })]);
    expect(app.http.server).toMatchObject({ requestTimeout: 30_000 });
  });
});

test.each([
  ['closes its side', (socket: ReturnType<typeof connect>) => socket.end()],
  ['is gone', (socket: ReturnType<typeof connect>) => socket.resetAndDestroy()],
])('a request is awaited until its client %s', async (_, giveUp) => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const arrived: Promise<[IncomingMessage]> = once(server, 'request').then(([request]) => [request]);
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [request] = await arrived;
  request.on('error', () => {});
  expect(isAwaited(request)).toBe(true);
  giveUp(socket);
  await expect.poll(() => isAwaited(request)).toBe(false);
});
