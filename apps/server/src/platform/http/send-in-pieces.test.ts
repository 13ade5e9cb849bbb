import { connect } from 'node:net';
import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../log.ts';
import { createOpenConnections } from './open-connections.ts';
import { createHttpServer } from './server.ts';

/** More than the buffers between server and client. */
const LARGE = { text: 'é'.repeat(16 * 1_048_576) };
const TEXT = JSON.stringify(LARGE);
const LARGE_BYTES = Buffer.byteLength(TEXT);
/** Makes the server write on. */
const TAKEN_BYTES = 8 * 1_048_576;
/** Three quarters of a minute: less than one that reads nothing has for a piece, and a third of what it waits here. */
const LOOKS = 9;

async function open() {
  const connections = createOpenConnections({ filesMax: null, onCrowded: () => {} });
  const nobody = async () => {
    throw new Error('this test has public routes alone');
  };
  const app = createHttpServer({
    ...{ trustedProxies: [], tls: null, connections },
    log: createLog({ level: 'error', format: 'text', now: Date.now, write: () => {} }),
    guards: {
      ...{ public: async () => {}, anyone: nobody, agent: nobody, operator: nobody },
      own: { judge: () => {}, countRefusal: () => {} },
    },
  });
  const about = { summary: 'For this test', tags: ['test'] };
  app.routes.public({
    ...{ method: 'GET', url: '/text', access: { limit: null } },
    schema: { ...about, response: { 200: Type.Object({ text: Type.String() }) } },
    handler: async () => LARGE,
  });
  app.routes.page({
    ...{ method: 'GET', url: '/bytes', access: { limit: null } },
    handler: async ({ reply }) => reply.type('text/plain').send(Buffer.from(TEXT)),
  });
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return { base, connections };
}

/** Asks, and reads nothing until `take` does. */
function ask(base: string, path: string) {
  const socket = connect({ port: Number(new URL(base).port), host: '127.0.0.1' }).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  let [taken, wanted] = [0, 0];
  socket.on('data', (chunk: Buffer) => {
    taken += chunk.length;
    if (taken >= wanted) socket.pause();
  });
  socket.pause();
  /** Reads so many bytes in all. */
  async function take(bytes: number): Promise<void> {
    wanted = bytes;
    socket.resume();
    await expect.poll(() => taken).toBeGreaterThanOrEqual(bytes);
  }
  return { take };
}

test.each(['/text', '/bytes'])('a long answer comes whole, with its length: %s', async (path) => {
  const { base } = await open();
  const answer = await fetch(base + path);
  expect(answer.headers.get('content-length')).toBe(String(LARGE_BYTES));
  expect(answer.headers.get('transfer-encoding')).toBeNull();
  expect((await answer.text()) === TEXT).toBe(true);
});

test.each(['/text', '/bytes'])(
  'who reads nothing of a long answer is disconnected after a minute, and who reads some of it at times is not: %s',
  async (path) => {
    const { base, connections } = await open();
    ask(base, path);
    const slow = ask(base, path);
    await slow.take(1);
    await expect.poll(() => connections.counts()).toMatchObject({ open: 2, waiting: 0 });
    for (let n = 1; n <= 3; n++) {
      await slow.take(n * TAKEN_BYTES);
      for (let look = 0; look < LOOKS; look++) connections.endStalled();
    }
    await expect.poll(() => connections.counts().open).toBe(1);
    await slow.take(LARGE_BYTES);
  },
);
