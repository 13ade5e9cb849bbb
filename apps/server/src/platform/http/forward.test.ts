import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createForward } from './forward.ts';
import { takeForwarded } from './forwarded.ts';
import { httpLimits } from './http-limits.ts';
import { DRAIN_MAX_BYTES, leaveUnreadBody } from './unread-body.ts';

/** A worker that forwards everything to a server. */
async function open(handle: RequestListener, { isEncrypted = false, most = 8 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-forward-'));
  const path = join(folder, 'workers.sock');
  const server = createServer(handle);
  const forwarded = await takeForwarded(server, { path, isEncrypted, connectionsMax: 64 });
  const worker = createServer(httpLimits(), createForward({ path, most }));
  worker.listen(0, '127.0.0.1');
  await once(worker, 'listening');
  onTestFinished(async () => {
    worker.closeAllConnections();
    await new Promise((resolve) => worker.close(resolve));
    await forwarded.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const address = worker.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  /** What comes back for these bytes until the connection ends. */
  async function raw(bytes: string): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(bytes, 'latin1');
    let text = '';
    socket.setEncoding('latin1');
    for await (const chunk of socket) text += chunk;
    return text;
  }
  return { path, url: `http://127.0.0.1:${port}`, port, raw, forwarded };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

test('the server sees the request as the client sent it, from the address of the client', async () => {
  const seen: unknown[] = [];
  const { raw, path } = await open(
    async (request, response) => {
      const { method, url, rawHeaders, headers, socket } = request;
      const encrypted = 'encrypted' in socket && socket.encrypted;
      seen.push({ method, url, rawHeaders, headers, from: socket.remoteAddress, encrypted });
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.statusCode = 418;
      response.end(await bodyOf(request));
    },
    { isEncrypted: true },
  );
  const answer = await raw(
    'PATCH /a%2Fb/../c?d=e&d=f HTTP/1.1\r\nHost: server.example\r\nX-Two: 1\r\nx-two: 2\r\nX-Latin: \xe9\r\n' +
      'X-Tidegate-Peer: 203.0.113.9\r\nContent-Length: 4\r\nConnection: close, x-two\r\n\r\nbody',
  );
  expect(seen).toEqual([
    expect.objectContaining({
      ...{ method: 'PATCH', url: '/a%2Fb/../c?d=e&d=f', from: '127.0.0.1', encrypted: true },
      rawHeaders: [
        ...['Host', 'server.example', 'X-Two', '1', 'x-two', '2', 'X-Latin', '\xe9'],
        ...['Content-Length', '4', 'connection', 'keep-alive'],
      ],
    }),
  ]);
  expect(seen[0]).not.toHaveProperty(['headers', 'x-tidegate-peer']);
  expect(answer).toMatch(/^HTTP\/1\.1 418 /);
  expect(answer).toContain('set-cookie: a=1\r\nset-cookie: b=2\r\n');
  expect(answer.match(/^date:/gim)).toHaveLength(1);
  expect(answer).toMatch(/\r\nConnection: close\r\n[\s\S]*\r\nbody/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('bodies of both ways keep their framing and come in pieces', async () => {
  const { url, raw } = await open(async (request, response) => {
    const { 'transfer-encoding': encoding = 'none', 'content-length': length = 'none' } = request.headers;
    const text = await bodyOf(request);
    response.end(`${request.method} ${encoding} ${length} ${text.length}`);
  });
  const stream = new ReadableStream({
    start(controller) {
      for (let n = 0; n < 3; n++) controller.enqueue(new TextEncoder().encode('x'.repeat(100_000)));
      controller.close();
    },
  });
  const sent = await fetch(url, { method: 'POST', body: stream, duplex: 'half' } as RequestInit);
  expect(await sent.text()).toBe('POST chunked none 300000');
  expect(await (await fetch(url, { method: 'POST' })).text()).toBe('POST none 0 0');
  expect(await (await fetch(url, { method: 'DELETE' })).text()).toBe('DELETE none 0 0');
  const head = await fetch(url, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  // A client of HTTP/1.0 knows no chunks.
  const old = await raw('GET / HTTP/1.0\r\n\r\n');
  expect(old).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nGET none 0 0$/);
  expect(old).not.toMatch(/transfer-encoding/i);
});

test('a stream comes as it is written, and ends for the server when the client has gone', async () => {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const { url } = await open((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    response.write('data: 1\n\n');
    response.on('close', () => resolve());
  });
  const controller = new AbortController();
  const answer = await fetch(url, { signal: controller.signal });
  const reader = answer.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n');
  controller.abort();
  await gone;
  expect(answer.status).toBe(200);
});

test('an answer before the end of a body reaches the client, and its connection ends', async () => {
  const { raw } = await open((request, response) => {
    response.writeHead(413, { connection: 'close', 'content-length': '3' });
    leaveUnreadBody(request, response);
    response.end('no\n');
  });
  const answer = await raw(
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n${'x'.repeat(200_000)}`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*Connection: close\r\n[\s\S]*no\n$/i);
});

test('more requests than connections wait for one another', async () => {
  const held: ServerResponse[] = [];
  let taken = 0;
  const { url } = await open(
    (_, response) => {
      taken++;
      held.push(response);
    },
    { most: 3 },
  );
  const answers = Array.from({ length: 6 }, () => fetch(url));
  for (let round = 1; round <= 3; round++) {
    await expect.poll(() => held.length).toBe(2);
    expect(taken).toBe(2 * round);
    for (const response of held.splice(0)) response.end('ok');
  }
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(new Array(6).fill(200));
});

/** More than a worker keeps of one. */
const LARGE_BYTES = 1_048_576;
const REFUSED = 16;
/** More than the buffers between a worker and its client, of an answer. */
const UNREAD = Buffer.alloc(64 * 1_048_576);
/** Between two pieces that a client reads. */
const PAUSE_MS = 20;
/** Of a body that is read piece by piece. */
const PIECES = 16;

test.each([
  ['small', 'content-length: 9', 'x'],
  ['small, in chunks', 'transfer-encoding: chunked', '1\r\nx\r\n'],
  ['large', `content-length: ${LARGE_BYTES}`, 'x'.repeat(100_000)],
  ['large, in chunks', 'transfer-encoding: chunked', `186a0\r\n${'x'.repeat(100_000)}\r\n`],
])('bodies that do not come keep nothing else from the server: %s', async (_, header, begun) => {
  const read: string[] = [];
  const { url, port } = await open(
    async (request, response) => {
      read.push(await bodyOf(request).catch(() => 'gone'));
      response.end('ok');
    },
    { most: 4 },
  );
  for (let n = 0; n < 8; n++) {
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n${begun}`);
  }
  expect(await (await fetch(url)).text()).toBe('ok');
  expect(await (await fetch(url, { method: 'POST', body: 'a small one' })).text()).toBe('ok');
  expect(read).toEqual(['', 'a small one']);
});

test.each([
  ['close', LARGE_BYTES],
  ['keep-alive', DRAIN_MAX_BYTES],
] as const)(
  'an answer before the end of a body makes room for the next request at once: connection %s',
  async (expected, bytes) => {
    const { port } = await open(
      (request, response) => {
        leaveUnreadBody(request, response);
        response.end('no');
      },
      { most: 1 },
    );
    const refused = Array.from({ length: REFUSED }, async () => {
      const socket = connect({ port, host: '127.0.0.1' });
      onTestFinished(() => void socket.destroy());
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`);
      const [answer] = await once(socket, 'data');
      expect(String(answer).toLowerCase()).toContain(`connection: ${expected}`);
      return socket;
    });
    const [socket] = await Promise.all(refused);
    if (expected === 'close') return;
    // The rest is dropped, and the connection goes on.
    for (let n = 0; n < PIECES; n++) {
      socket?.write('x'.repeat(bytes / PIECES));
      await new Promise(setImmediate);
    }
    socket?.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(socket && String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /);
  },
);

test('answers that clients do not read keep no other request from the server; one that is read comes whole, and a silent stream stays', async () => {
  const streams: ServerResponse[] = [];
  const { url, port } = await open(
    (request, response) => {
      if (request.url === '/stream') streams.push(response.writeHead(200));
      if (request.url === '/stream') return response.flushHeaders();
      response.end(request.url === '/large' ? UNREAD : 'ok');
    },
    { most: 6 },
  );
  const stream = await fetch(`${url}/stream`);
  const read = await fetch(`${url}/large`);
  for (let n = 0; n < 4; n++) {
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nhost: a\r\n\r\n');
  }
  let isServed = false;
  const served = fetch(url).then(async (answer) => {
    expect(await answer.text()).toBe('ok');
    isServed = true;
  });
  // Some of it at times, until the other one is served.
  let bytes = 0;
  for await (const piece of read.body ?? []) {
    bytes += piece.length;
    if (!isServed) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  expect(bytes).toBe(UNREAD.length);
  await served;
  for (const response of streams) response.end('at last');
  expect(await stream.text()).toBe('at last');
});

test('a client that goes before its body has come reaches nobody', async () => {
  let asked = 0;
  const { url, port } = await open((_, response) => {
    asked++;
    response.end('ok');
  });
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx');
  await once(socket, 'connect');
  socket.resetAndDestroy();
  for (let n = 0; n < 3; n++) expect(await (await fetch(url)).text()).toBe('ok');
  expect(asked).toBe(3);
});

test('without the server the answer is 503 with the time to ask again', async () => {
  const { url, forwarded } = await open(() => {});
  await forwarded.close();
  const answer = await fetch(url);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await answer.json()).toMatchObject({ code: 'unavailable' });
});

test('as many headers as a request may have never push out the address of the client', async () => {
  const seen: unknown[] = [];
  const { raw } = await open((request, response) => {
    const { rawHeaders, headers, socket } = request;
    const hasPeer = rawHeaders.some((text) => text.toLowerCase() === 'x-tidegate-peer');
    seen.push([socket.remoteAddress, 'x-tidegate-peer' in headers, hasPeer]);
    response.end();
  });
  for (const count of [900, 980, 985, 990, 991, 992, 993, 994, 995, 996, 997, 998, 999, 1_000, 2_000]) {
    const filler = 'a:\r\n'.repeat(count);
    await raw(
      `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${filler}X-Tidegate-Peer: 203.0.113.9\r\n\r\n`,
    );
  }
  expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify(['127.0.0.1', false, false])]),
  );
});
