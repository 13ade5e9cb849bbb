import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { answerReady, KEEP_ALIVE_MS } from './ready-answer.ts';

const ID = '8d1fa7f2-9d0e-4f8e-b1f5-8bb2cf3d4b6a';
const DATE = 'Sat, 21 Nov 2026 12:00:00 GMT';
const answer = (text: string) => ({ requestId: ID, text, nowMs: Date.parse(DATE) + 999 });
const requestOf = (path: string, header = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${header}\r\n`;

async function connectTo(listener: RequestListener): Promise<Socket> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const socket = connect(address.port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
    server.close().closeAllConnections();
  });
  await once(socket, 'connect');
  return socket;
}

/** Reads on until what has come is enough. */
async function readUntil(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  let text = '';
  while (!isEnough(text)) {
    const chunk: unknown = socket.read();
    if (Buffer.isBuffer(chunk)) text += chunk.toString('latin1');
    else await once(socket, 'readable');
  }
  return text;
}

test('the answer in one write says what node:http says', async () => {
  const socket = await connectTo((request, response) => {
    if (request.url === '/ready') return answerReady(response, answer('{"a":1}'));
    const own = { 'x-request-id': ID, 'content-length': 7, date: DATE };
    const headers = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
    response.writeHead(200, { ...own, 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end('{"a":1}');
  });
  const ask = async (path: string) => {
    socket.write(requestOf(path));
    const [head = '', body] = (await readUntil(socket, (text) => text.endsWith('}'))).split('\r\n\r\n');
    const [status, ...headers] = head.toLowerCase().split('\r\n');
    return { status, headers: headers.sort(), body };
  };
  const ready = await ask('/ready');
  expect(ready.headers).toHaveLength(8);
  expect(ready).toEqual(await ask('/node'));
  // The connection goes on after either of them.
  expect(await ask('/ready')).toEqual(ready);
});

test('a client that asks to close the connection has it closed', async () => {
  const socket = await connectTo((_, response) => answerReady(response, answer('{"a":1}')));
  socket.write(requestOf('/', 'connection: close\r\n'));
  const text = await readUntil(socket, (so) => so.endsWith('}'));
  expect(text.toLowerCase()).toContain('connection: close');
  expect(text.toLowerCase()).toContain(`x-request-id: ${ID}`);
  await once(socket.resume(), 'end');
});

test('requests that come at once are answered in their order, whichever is ready first', async () => {
  const waiting = new Map<string | undefined, ServerResponse>();
  const socket = await connectTo((request, response) => {
    waiting.set(request.url, response);
    if (waiting.size < 3) return;
    for (const path of ['/2', '/1', '/3']) {
      const one = waiting.get(path);
      if (one) answerReady(one, answer(`{"path":"${path}"}`));
    }
  });
  socket.write(requestOf('/1') + requestOf('/2') + requestOf('/3'));
  const text = await readUntil(socket, (so) => so.includes('{"path":"/3"}'));
  expect(text.match(/\{.*?\}/g)).toEqual(['{"path":"/1"}', '{"path":"/2"}', '{"path":"/3"}']);
});

test('an answer that a client does not read is not over, and comes whole when it reads', async () => {
  const long = `{"a":"${'x'.repeat(16_000_000)}"}`;
  let finished = 0;
  const socket = await connectTo((_, response) => {
    response.once('finish', () => void finished++);
    answerReady(response, answer(long));
  });
  socket.pause();
  socket.write(requestOf('/1') + requestOf('/2'));
  await pause(200);
  expect(finished).toBe(0);
  const text = await readUntil(socket, (so) => so.length > 2 * long.length && so.endsWith('}'));
  expect(text.split(long)).toHaveLength(3);
  await expect.poll(() => finished).toBe(2);
});

test('an answer to a client that has gone goes nowhere, and harms nothing', async () => {
  let ready: ServerResponse | null = null;
  const socket = await connectTo((_, response) => {
    ready = response;
  });
  socket.write(requestOf('/'));
  await expect.poll(() => ready).not.toBeNull();
  socket.resetAndDestroy();
  await pause(50);
  if (ready !== null) answerReady(ready, answer('{}'));
  await pause(50);
});
