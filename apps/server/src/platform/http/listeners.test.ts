import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { createSelfSigned } from '@tidegate/testkit/certificates';
import { untilRefused } from '@tidegate/testkit/free-port';
import { expect, onTestFinished, test } from 'vitest';
import { BODY_BUFFER_BYTES, httpLimits } from './http-limits.ts';
import { listenMore, listenOnOthers, SHARES_PORTS } from './listeners.ts';

async function serve() {
  const server = createServer((request, response) => response.end(request.socket.localAddress));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { server, port: address.port };
}

test('both addresses of localhost reach the server, until it is closed', async () => {
  const { server, port } = await serve();
  await listenOnOthers(server, ['127.0.0.2', '127.0.0.1']);
  const answers = ['127.0.0.1', '127.0.0.2'].map(async (host) =>
    (await fetch(`http://${host}:${port}/`)).text(),
  );
  expect(await Promise.all(answers)).toEqual(['127.0.0.1', '127.0.0.2']);
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  await untilRefused({ port, host: '127.0.0.2' });
});

test('an address that the machine does not have is left out', async () => {
  const { server, port } = await serve();
  await listenOnOthers(server, ['203.0.113.7', '127.0.0.1', '127.0.0.2']);
  expect(await (await fetch(`http://127.0.0.2:${port}/`)).text()).toBe('127.0.0.2');
});

test('an address whose port is taken is an error, and then none of the others is taken', async () => {
  const { server, port } = await serve();
  const taken = createServer().listen(port, '127.0.0.3');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  await expect(listenOnOthers(server, ['127.0.0.2', '127.0.0.3'])).rejects.toThrow('EADDRINUSE');
  await untilRefused({ port, host: '127.0.0.2' });
});

const FILES = 64 * 8;
const ASKED = 40;
const pair = await createSelfSigned(['localhost']);

/** A server with eight listeners of one address, whose answers wait for the test. */
async function serveMore(scheme: 'http' | 'https') {
  const arrived: ((end: () => void) => void)[] = [];
  const buffers = new Set<number>();
  const listener: RequestListener = (request, response) => {
    buffers.add(request.readableHighWaterMark);
    arrived.shift()?.(() => response.end());
  };
  const server = scheme === 'http' ? createServer(httpLimits(), listener) : createTlsServer(pair, listener);
  server.listen({ port: 0, host: '127.0.0.1', reusePort: true });
  await once(server, 'listening');
  await listenMore(server, FILES);
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const at = { port: address.port, host: '127.0.0.1', ca: pair.cert, servername: 'localhost' };
  /** Asks on a connection of its own until the request has arrived. */
  async function ask(): Promise<{ end: () => void; status: Promise<string> }> {
    const socket = scheme === 'http' ? connect(at) : connectTls(at);
    onTestFinished(() => void socket.destroy());
    const end = new Promise<() => void>((resolve) => void arrived.push(resolve));
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    return { end: await end, status: text(socket).then((answer) => answer.slice(0, 12)) };
  }
  /** Connections of the first listener. */
  const own = () => new Promise<number>((found) => server.getConnections((_, count) => found(count)));
  return { server, at, ask, own, buffers };
}

test.runIf(SHARES_PORTS).each(['http', 'https'] as const)(
  'a server of %s serves the connections of all listeners, and is closed when those of all are',
  async (scheme) => {
    const { server, at, ask, own } = await serveMore(scheme);
    const asked = [await ask()];
    // The last one is of another listener.
    for (let before = -1; (await own()) !== before; ) {
      before = await own();
      asked.push(await ask());
    }
    let isClosed = false;
    const closed = new Promise<void>((done) => {
      server.close(() => {
        isClosed = true;
        done();
      });
    });
    for (let n = 0; n < ASKED; n++) await untilRefused(at);
    for (const { end } of asked.slice(0, -1)) end();
    await expect.poll(own).toBe(0);
    expect(isClosed).toBe(false);
    asked.at(-1)?.end();
    for (const { status } of asked) expect(await status).toBe('HTTP/1.1 200');
    await closed;
  },
);

test.runIf(SHARES_PORTS)('all listeners buffer as little of a body', async () => {
  const { ask, buffers } = await serveMore('http');
  for (let n = 0; n < ASKED; n++) {
    const { end, status } = await ask();
    end();
    await status;
  }
  expect([...buffers]).toEqual([BODY_BUFFER_BYTES]);
});

test.runIf(SHARES_PORTS)('of few open files a server takes few for listeners', async () => {
  const { server } = await serveMore('http');
  const before = process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length;
  await listenMore(server, 64 * 2);
  expect(process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length).toBe(before + 1);
});
