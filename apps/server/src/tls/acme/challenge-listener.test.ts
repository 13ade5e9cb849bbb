import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { type ChallengeListener, listenForChallenges } from './challenge-listener.ts';

const ORIGIN = 'https://tidegate.example:8443';
const TOKEN = 'LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0';

async function listening(times?: { requestMs: number; checkMs: number }): Promise<ChallengeListener> {
  const listener = await listenForChallenges({
    ...{ host: '127.0.0.1', port: 0, origin: ORIGIN },
    ...(times && { times }),
  });
  onTestFinished(listener.stop);
  return listener;
}

function dial({ port }: ChallengeListener): Socket {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  return socket;
}

/** Everything that it says to these bytes until it hangs up. */
async function say(
  listener: ChallengeListener,
  bytes: string,
): Promise<{ status: number; head: string; body: string }> {
  const socket = dial(listener);
  socket.write(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n', 2);
  return { status: Number(head.split(' ')[1]), head, body };
}

const head = (line: string) => `${line} HTTP/1.1\r\nHost: attacker.example\r\n\r\n`;

test('a challenge is answered while it is open, and on this path only', async () => {
  const it = await listening();
  const url = `/.well-known/acme-challenge/${TOKEN}`;
  const end = await it.respond({
    name: 'tidegate.example',
    token: TOKEN,
    keyAuthorization: `${TOKEN}.print`,
  });
  expect(await say(it, head(`GET ${url}`))).toMatchObject({ status: 200, body: `${TOKEN}.print` });
  expect(await say(it, head(`GET ${url}x`))).toMatchObject({ status: 404 });
  expect(await say(it, head(`GET ${url}/../${TOKEN}`))).toMatchObject({ status: 404 });
  expect(await say(it, head(`POST ${url}`))).toMatchObject({ status: 403 });
  end();
  expect(await say(it, head(`GET ${url}`))).toMatchObject({ status: 404 });
});

test.each<[string, number, string | null]>([
  ['GET /', 308, `${ORIGIN}/`],
  ['HEAD /hosts?group=lab', 308, `${ORIGIN}/hosts?group=lab`],
  // The origin is ours, whatever the path and the Host header are.
  ['GET //attacker.example/', 308, `${ORIGIN}//attacker.example/`],
  ['GET /@attacker.example', 308, `${ORIGIN}/@attacker.example`],
  ['GET http://attacker.example/', 403, null],
  // A client that sends credentials over plain HTTP is to fail, not to go on doing so.
  ['GET /api/v1/agents', 403, null],
  ['POST /api/v1/auth/login', 403, null],
  ['DELETE /', 403, null],
  ['nonsense', 400, null],
])('browsers are redirected to https, and nobody else: %s: %i', async (line, status, location) => {
  const answer = await say(await listening(), head(line));
  expect(answer.status).toBe(status);
  expect(/^location: (.*)$/im.exec(answer.head)?.[1]?.trim() ?? null).toBe(location);
  expect(answer.head).toMatch(/^connection: close/im);
});

test.each([
  [2_048, 414],
  [9_000, 431],
])('a path of %i characters is refused with %i', async (length, status) => {
  expect(await say(await listening(), head(`GET /${'a'.repeat(length)}`))).toMatchObject({ status });
});

test('a second request on a connection gets no answer', async () => {
  const socket = dial(await listening());
  socket.write(head('GET /a') + head('GET /b'));
  const said = await text(socket);
  expect([said.match(/HTTP\/1\.1 /g)?.length, said.includes('/b')]).toEqual([1, false]);
});

test.each([
  ['says nothing', ''],
  ['never ends its headers', 'GET / HTTP/1.1\r\nHost: x\r\n'],
])('a client that %s is hung up on', async (_, bytes) => {
  const socket = dial(await listening({ requestMs: 20, checkMs: 10 }));
  if (bytes !== '') socket.write(bytes);
  socket.resume();
  await once(socket, 'close');
});

test('more than 128 connections at once are refused, and the listener still answers afterwards', async () => {
  const it = await listening();
  const sockets = Array.from({ length: 129 }, () => dial(it));
  const [first] = await Promise.race(
    sockets.map((socket) => once(socket.resume(), 'close').then(() => [socket])),
  );
  expect(sockets).toContain(first);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await say(it, head('GET /'))).status).toBe(308);
});

test('a port that is taken is an error', async () => {
  const { port } = await listening();
  await expect(listenForChallenges({ host: '127.0.0.1', port, origin: ORIGIN })).rejects.toThrow(
    'EADDRINUSE',
  );
});
