import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { Problem } from '@tidegate/protocol/problems';
import { Check } from 'typebox/value';
import { expect, onTestFinished, test } from 'vitest';
import {
  ACCEPTED_IN_A_ROW_MAX,
  createLoadShedding,
  GAP_MAX_MS,
  PASSED_OVER_MAX,
  SLOW_MIN,
  SLOW_MS,
} from './shed-load.ts';

/** A server whose answers to `/visit` wait until they are released, if `isHeld`. */
async function open({ inProgressMax = 2, isHeld = false, fraction = 0, isLong = true } = {}) {
  const held: ServerResponse[] = [];
  const refused: string[] = [];
  const time = { ms: 0 };
  const shedding = createLoadShedding({
    lanes: [{ name: 'visits', route: '/visit', inProgressMax, has: ({ url }) => url === '/visit' }],
    elapsedMs: () => time.ms,
    random: (bytes) => Buffer.alloc(bytes, Math.round(fraction * 255)),
    acceptWait: { watch: () => {}, isLong: () => isLong },
    onRefused: ({ lane }) => void refused.push(lane.name),
  });
  const server = createServer((request, response) => {
    if (shedding.refuses(request, response)) return;
    if (isHeld && request.url === '/visit') held.push(response);
    else response.end('served');
  });
  shedding.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const visit = (path = '/visit') => fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: 'x' });
  const inProgress = (count: number) => expect.poll(() => held.length).toBe(count);
  const release = () => held.splice(0).map((response) => response.end('served'));
  return { visit, inProgress, release, refused, time, port };
}

test('above its bound a lane refuses with a problem and Retry-After; other requests and later ones are served', async () => {
  const { visit, inProgress, release, refused } = await open({ isHeld: true });
  const admitted = [visit(), visit()];
  await inProgress(2);
  const shed = await visit();
  const body: unknown = await shed.json();
  expect([shed.status, shed.headers.get('content-type')]).toEqual([503, 'application/problem+json']);
  expect(Check(Problem, body)).toBe(true);
  expect(body).toMatchObject({ code: 'unavailable', detail: expect.stringContaining('Too many visits') });
  expect(Number(shed.headers.get('retry-after'))).toBeGreaterThanOrEqual(5);
  expect((await visit('/page')).status).toBe(200);
  expect(refused).toEqual(['visits']);
  release();
  expect((await Promise.all(admitted)).map(({ status }) => status)).toEqual([200, 200]);
  const next = visit();
  await inProgress(1);
  release();
  expect((await next).status).toBe(200);
});

test.each([
  [0, 5],
  [0.5, 15],
  [1, 25],
])(
  'Retry-After is spread over the 20 s that the backlog needs: %d drawn is %d s',
  async (fraction, seconds) => {
    const { visit, inProgress, release, time } = await open({ isHeld: true, inProgressMax: 1, fraction });
    const asked: number[] = [];
    // One is served in each second, and five are refused.
    for (let n = 0; n < 4; n++) {
      time.ms = n * 1_000;
      const one = visit();
      await inProgress(1);
      for (let i = 0; i < 5; i++) asked.push(Number((await visit()).headers.get('retry-after')));
      release();
      await one;
      await expect.poll(async () => (await visit('/page')).status).toBe(200);
    }
    expect(asked.at(-1)).toBe(seconds);
  },
);

test('refusals that are a minute old are forgotten', async () => {
  const { visit, inProgress, release, time } = await open({ isHeld: true, inProgressMax: 1, fraction: 1 });
  const first = visit();
  await inProgress(1);
  for (let i = 0; i < 30; i++) await visit();
  expect((await visit()).headers.get('retry-after')).toBe('36');
  time.ms = 61_000;
  expect((await visit()).headers.get('retry-after')).toBe('6');
  release();
  await first;
});

test('a lane whose requests wait for longer than a second takes no more, and a few slow ones close it for nobody', async () => {
  const { visit, inProgress, release, time, refused } = await open({ isHeld: true, inProgressMax: 1_000 });
  const admitted = Array.from({ length: SLOW_MIN - 1 }, () => visit());
  await inProgress(SLOW_MIN - 1);
  // The first of these is the one too many, and has waited for a second when the last one comes.
  for (let later = 0; later <= SLOW_MS / GAP_MAX_MS; later++) {
    time.ms += GAP_MAX_MS;
    admitted.push(visit());
    await inProgress(SLOW_MIN + later);
  }
  expect(refused).toEqual([]);
  time.ms += 1;
  expect((await visit()).status).toBe(503);
  release();
  await Promise.all(admitted);
  const next = visit();
  await inProgress(1);
  release();
  expect((await next).status).toBe(200);
});

test('after a time in which nobody asked, such as a stop of the server, those that still wait keep nobody out', async () => {
  const { visit, inProgress, release, time, refused } = await open({ isHeld: true, inProgressMax: 1_000 });
  const waiting = Array.from({ length: 2 * SLOW_MIN }, () => visit());
  await inProgress(2 * SLOW_MIN);
  time.ms = 60 * SLOW_MS;
  const next = visit();
  await inProgress(2 * SLOW_MIN + 1);
  release();
  expect((await next).status).toBe(200);
  await Promise.all(waiting);
  expect(refused).toEqual([]);
});

test('requests whose bodies are sent slowly keep nobody out', async () => {
  const { port, visit, inProgress, release, time, refused } = await open({ isHeld: true });
  const slow = Array.from({ length: 2 * SLOW_MIN }, () => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write('POST /visit HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n1');
    onTestFinished(() => void socket.destroy());
    return socket;
  });
  await inProgress(slow.length);
  time.ms = 2 * SLOW_MS;
  const honest = visit();
  await inProgress(slow.length + 1);
  release();
  expect((await honest).status).toBe(200);
  expect(refused).toEqual([]);
});

test('thousands of slow bodies cost a request no walk over all of them, and hide no whole requests for long', () => {
  let looks = 0;
  const { refuses } = createLoadShedding({
    lanes: [{ name: 'visits', route: '/visit', inProgressMax: 40, has: () => true }],
    elapsedMs: () => 0,
    random: (bytes) => Buffer.alloc(bytes),
    acceptWait: { watch: () => {}, isLong: () => false },
    onRefused: () => {},
  });
  const ask = (isWhole: boolean) => {
    const request = new IncomingMessage(new Socket());
    Object.defineProperty(request, 'complete', {
      get: () => {
        looks++;
        return isWhole;
      },
    });
    return refuses(request, new ServerResponse(request));
  };
  const count = 40 * PASSED_OVER_MAX;
  for (let n = 0; n < count; n++) {
    looks = 0;
    expect(ask(false)).toBe(false);
    expect(looks).toBeLessThanOrEqual(PASSED_OVER_MAX + 1);
  }
  const answers = Array.from({ length: 90 }, () => ask(true));
  expect(answers.filter((isRefused) => !isRefused).length).toBeLessThan(85);
  expect(answers.slice(-5)).toEqual(Array(5).fill(true));
});

/** The answers to connections that are opened at once, so many beyond the bound. */
function statusesInRow({ port, path, beyond }: { port: number; path: string; beyond: number }) {
  return Promise.all(
    Array.from({ length: ACCEPTED_IN_A_ROW_MAX + beyond }, async () => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      const [chunk] = await once(socket, 'data');
      socket.destroy();
      return Number(String(chunk).slice(9, 12));
    }),
  );
}

test('connections in a row that wait long are refused in the lane, but for a quarter, and nowhere else', async () => {
  const { port, visit, refused } = await open({ inProgressMax: 10_000 });
  const beyond = 200;
  const statuses = (path: string) => statusesInRow({ port, path, beyond });
  const visits = await statuses('/visit');
  expect(visits.filter((status) => status === 503)).toHaveLength(refused.length);
  expect(refused.length).toBeGreaterThan(beyond / 2);
  expect(refused.length).toBeLessThanOrEqual(beyond);
  expect((await visit()).status).toBe(200);
  expect(new Set(await statuses('/page'))).toEqual(new Set([200]));
});

test('connections in a row that are accepted at once are served', async () => {
  const { port, refused } = await open({ inProgressMax: 10_000, isLong: false });
  const visits = await statusesInRow({ port, path: '/visit', beyond: 200 });
  expect(new Set(visits)).toEqual(new Set([200]));
  expect(refused).toEqual([]);
});
