import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { createSelfSigned } from '@tidegate/testkit/certificates';
import { expect, onTestFinished, test } from 'vitest';
import { createOpenConnections, openFilesMax, UNANSWERED_MAX } from './open-connections.ts';

const pair = await createSelfSigned(['localhost']);

/** More than the buffers between server and client. */
const LARGE = Buffer.alloc(32 * 1_048_576);
const PIECE = Buffer.alloc(65_536);
/** Makes the server write on. */
const TAKEN_BYTES = 8 * 1_048_576;
/** Three times as many are too many for one that reads nothing. */
const LOOKS = 4;
const LOOKS_OF_HOURS = 1_800;

async function open(filesMax: number | null, scheme: 'http' | 'https' = 'http') {
  const crowded: number[] = [];
  const connections = createOpenConnections({ filesMax, onCrowded: (count) => void crowded.push(count) });
  const held: (() => void)[] = [];
  const listener: RequestListener = (request, response) => {
    if (!connections.follow(response)) return;
    if (request.url === '/slow') held.push(() => response.end('served'));
    else if (request.url === '/large') response.end(LARGE);
    else if (request.url === '/pieces') Readable.from(pieces()).pipe(response);
    else if (request.url !== '/body') response.end('served');
  };
  const kept = { keepAliveTimeout: 60_000 };
  const server =
    scheme === 'http' ? createServer(kept, listener) : createTlsServer({ ...kept, ...pair }, listener);
  connections.watch(server);
  let accepted = 0;
  server.on(scheme === 'http' ? 'connection' : 'secureConnection', () => void accepted++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  /** A connection that the server has accepted, and that has sent nothing. */
  async function reach(): Promise<Socket> {
    const before = accepted;
    const to = { port, host: '127.0.0.1', ca: pair.cert, servername: 'localhost' };
    const socket = scheme === 'http' ? connect(to) : connectTls(to);
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    // Notices the end while nobody reads.
    socket.resume();
    await once(socket, scheme === 'http' ? 'connect' : 'secureConnect');
    await expect.poll(() => accepted).toBe(before + 1);
    return socket;
  }
  /** Sends a request; the answer's header `connection`, or null if there is no answer. */
  async function ask(given?: Socket) {
    const socket = given ?? (await reach());
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const answer = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => null)]);
    return { socket, kept: answer && /^connection: (\S+)/im.exec(String(answer[0]))?.[1] };
  }
  return { ask, reach, crowded, connections, held, port };
}

function* pieces() {
  for (let n = 0; n < 4_096; n++) yield PIECE;
}

async function takeMany(socket: Socket): Promise<void> {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  socket.resume();
  await expect.poll(() => bytes).toBeGreaterThan(TAKEN_BYTES);
  socket.pause();
  socket.removeAllListeners('data');
}

const isOpen = ({ destroyed, readableEnded }: Socket) => !destroyed && !readableEnded;

test('connections are kept up to four fifths of the open files; past it they end with their answer', async () => {
  const { ask, crowded, connections } = await open(20);
  const kept = [];
  for (let n = 0; n < 16; n++) kept.push(await ask());
  expect(kept.map((one) => one.kept)).toEqual(Array.from({ length: 16 }, () => 'keep-alive'));
  const last = await ask();
  expect(last.kept).toBe('close');
  expect(crowded).toEqual([17]);
  await once(last.socket, 'close');
  kept.at(-1)?.socket.destroy();
  await expect.poll(async () => (await ask()).kept).toBe('keep-alive');
  expect(connections.counts().max).toBe(18);
});

test.each(['http', 'https'] as const)(
  'over %s silent connections end when they are told to, and no others',
  async (scheme) => {
    const { ask, reach, connections, held } = await open(null, scheme);
    const [kept, busy] = [(await ask()).socket, await reach()];
    busy.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
    await expect.poll(() => held.length).toBe(1);
    const silent = [await reach(), await reach()];
    connections.endSilent();
    await expect.poll(() => silent.map(isOpen)).toEqual([false, false]);
    expect([kept, busy].every(isOpen)).toBe(true);
    await expect.poll(() => connections.counts()).toMatchObject({ open: 2, waiting: 1 });
  },
);

test.each(['http', 'https'] as const)(
  'over %s a new connection past the bound ends the one that waits longest: silent ones, then kept ones, never a busy one',
  async (scheme) => {
    const { ask, reach, connections, held } = await open(20, scheme);
    const keepBusy = async (socket: Socket) => {
      const before = held.length;
      socket.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
      await expect.poll(() => held.length).toBe(before + 1);
    };
    const busy = await reach();
    // The answer to the first of two requests leaves it busy.
    busy.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await keepBusy(busy);
    const kept: Socket[] = [];
    for (let n = 0; n < 14; n++) kept.push((await ask()).socket);
    const [first, second, ...others] = kept;
    await ask(first);
    const silent = [await reach(), await reach()];
    expect(connections.counts()).toMatchObject({ open: 17, waiting: 16 });

    const last = await reach();
    await expect.poll(() => silent.map(isOpen)).toEqual([false, true]);
    expect((await ask(last)).kept).toBe('close');
    await expect.poll(() => connections.counts().open).toBe(16);
    const next = [await reach(), await reach()];
    await expect.poll(() => silent.map(isOpen)).toEqual([false, false]);
    expect([...kept, ...next, busy].every(isOpen)).toBe(true);

    for (const one of next) await keepBusy(one);
    const newcomer = await reach();
    await expect.poll(() => second && isOpen(second)).toBe(false);
    expect([first, ...others, ...next, busy, newcomer].every((one) => one && isOpen(one))).toBe(true);
    expect(connections.counts().ended).toEqual({ answered: 3, waiting: 3 });
    for (const socket of [...kept, ...next, busy, newcomer]) socket.destroy();
    await expect.poll(() => connections.counts()).toMatchObject({ open: 0, waiting: 0 });
  },
);

test.each(['http', 'https'] as const)(
  'over %s a new connection ends the longest one whose body does not come or whose answer is not read, where no other waits',
  async (scheme) => {
    const { reach, connections, held } = await open(20, scheme);
    const busy = await reach();
    const stalled: Socket[] = [];
    busy.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
    await expect.poll(() => held.length).toBe(1);
    for (let n = 0; n < 16; n++) {
      const socket = await reach();
      socket.pause();
      const head = n % 2 === 0 ? 'POST /body HTTP/1.1\r\ncontent-length: 9' : 'GET /large HTTP/1.1';
      socket.write(`${head}\r\nhost: x\r\n\r\n`);
      stalled.push(socket);
      await expect.poll(() => connections.counts().waiting).toBe(0);
    }
    const gone = () => stalled.map((socket) => socket.destroyed || socket.closed);
    for (let n = 1; n <= 4; n++) {
      const newcomer = await reach();
      newcomer.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
      await expect.poll(() => held.length).toBe(1 + n);
      expect(connections.counts()).toMatchObject({ open: 17, waiting: 0, ended: { waiting: n } });
    }
    for (const socket of stalled) socket.resume();
    await expect.poll(() => gone().indexOf(false)).toBe(4);
    for (const answer of held) answer();
    expect(isOpen(busy)).toBe(true);
  },
);

test.each(['http', 'https'] as const)(
  'over %s a client that reads nothing of its answer is disconnected; one that reads some, or waits for the server, is not',
  async (scheme) => {
    const { reach, connections, held } = await open(null, scheme);
    const ask = async (path: string) => {
      const socket = await reach();
      socket.pause();
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      return socket;
    };
    const deaf = [await ask('/pieces'), await ask('/large')];
    const [slow, waiting] = [await ask('/pieces'), await ask('/slow')];
    await expect.poll(() => held.length).toBe(1);
    const all = [...deaf, slow, waiting];
    const look = (times: number) => {
      for (let n = 0; n < times; n++) connections.endStalled();
    };
    for (let n = 0; n < 3; n++) {
      await takeMany(slow);
      look(LOOKS);
    }
    await expect.poll(() => connections.counts().open).toBe(3);
    // What is written in one piece may take longer: 32 MiB more than two hours.
    await takeMany(slow);
    look(LOOKS_OF_HOURS);
    await expect.poll(() => connections.counts().open).toBe(1);
    held[0]?.();
    waiting.resume();
    await once(waiting, 'data');
    for (const socket of all) socket.resume();
    await expect.poll(() => all.map(isOpen)).toEqual([false, false, false, true]);
  },
);

test('there is an end where every connection is busy', async () => {
  const { reach, held, port } = await open(10);
  for (let n = 0; n < 9; n++) {
    const socket = await reach();
    socket.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
    await expect.poll(() => held.length).toBe(n + 1);
  }
  const refused = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  // Long before its time for a request is over.
  await once(refused.resume(), 'close', { signal: AbortSignal.timeout(10_000) });
});

test.each(['http', 'https'] as const)(
  'over %s a packet of more requests than a connection may have ends it, and no more of them are worked on',
  async (scheme) => {
    const { reach, held, connections } = await open(null, scheme);
    const [allowed, flood] = [await reach(), await reach()];
    const request = 'GET /slow HTTP/1.1\r\nhost: x\r\n\r\n';
    allowed.write(request.repeat(UNANSWERED_MAX));
    await expect.poll(() => held.length).toBe(UNANSWERED_MAX);
    flood.write(request.repeat(400));
    await once(flood, 'close');
    expect(held.length).toBe(2 * UNANSWERED_MAX);
    expect(isOpen(allowed)).toBe(true);
    for (const answer of held) answer();
    await expect.poll(() => connections.counts()).toMatchObject({ open: 1, waiting: 1 });
    allowed.write(request);
    await expect.poll(() => held.length).toBe(2 * UNANSWERED_MAX + 1);
  },
);

test('without a known limit every connection is kept', async () => {
  const { ask } = await open(null);
  for (let n = 0; n < 20; n++) expect((await ask()).kept).toBe('keep-alive');
});

if (process.platform === 'linux')
  test('Linux tells the limit of open files', () => {
    expect(openFilesMax()).toBeGreaterThan(100);
  });
