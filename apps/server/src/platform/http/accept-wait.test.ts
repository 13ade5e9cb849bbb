import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createAcceptWait, HELD_MS, LONG_WAIT_MS } from './accept-wait.ts';

/** Each accepted connection takes `turnMs` of the clock. */
async function open({ turnMs, processes = 1 }: { turnMs: number; processes?: number }) {
  const time = { ms: 0 };
  const wait = createAcceptWait(() => time.ms, processes);
  const server = createServer();
  let accepted = 0;
  server.on('connection', () => {
    accepted++;
    time.ms += turnMs;
  });
  wait.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  function queue(connections: number) {
    for (let n = 0; n < connections; n++) {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
      onTestFinished(() => void socket.destroy());
    }
  }
  return {
    wait,
    time,
    queue,
    server,
    port,
    accepted: (count: number) => expect.poll(() => accepted).toBe(count),
  };
}

test('a wait behind a long queue is long, and counts for a while', async () => {
  const { wait, time, queue, accepted } = await open({ turnMs: 10 });
  queue(60);
  expect(wait.isLong()).toBe(false);
  await accepted(61);
  expect(time.ms).toBeGreaterThan(LONG_WAIT_MS);
  expect(wait.isLong()).toBe(true);
  time.ms += HELD_MS + 1;
  expect(wait.isLong()).toBe(false);
  await accepted(62);
  expect(wait.isLong()).toBe(false);
});

test('many connections that are taken at once do not wait long', async () => {
  const { wait, queue, accepted } = await open({ turnMs: 1 });
  queue(60);
  expect(wait.isLong()).toBe(false);
  await accepted(61);
  expect(wait.isLong()).toBe(false);
});

test('a wait that has not ended is long when its time is over, and one connection at a time measures it', async () => {
  const { wait, time, accepted } = await open({ turnMs: 0 });
  expect(wait.isLong()).toBe(false);
  time.ms += LONG_WAIT_MS + 1;
  expect(wait.isLong()).toBe(true);
  await accepted(1);
});

test('a connection that is dropped says nothing', async () => {
  const { wait, time, server, port } = await open({ turnMs: 0 });
  const first = connect({ port, host: '127.0.0.1' });
  onTestFinished(() => void first.destroy());
  await once(server, 'connection');
  server.maxConnections = 1;
  expect(wait.isLong()).toBe(false);
  await once(server, 'drop');
  time.ms += LONG_WAIT_MS + 1;
  await expect.poll(() => wait.isLong()).toBe(false);
});

test('with another process on the port, one of several connections measures it', async () => {
  const { wait, time, queue, accepted } = await open({ turnMs: 10, processes: 2 });
  queue(60);
  expect(wait.isLong()).toBe(false);
  await accepted(68);
  expect(wait.isLong()).toBe(true);
  time.ms += HELD_MS + 1;
  expect(wait.isLong()).toBe(false);
  await accepted(76);
  expect(wait.isLong()).toBe(false);
});
