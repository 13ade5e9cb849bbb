import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { insertTestAgent } from '../../testing/agent-rows.ts';
import { ENGINES } from '../../testing/engines.ts';
import { createSliceApp } from '../../testing/slice-app.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';
import { createForward } from './forward.ts';
import { takeForwarded } from './forwarded.ts';
import { httpLimits } from './http-limits.ts';
import { UNFINISHED_OF_HOST_MAX } from './unfinished-bodies.ts';

const [engine] = ENGINES;
if (!engine) throw new Error('SQLite is always there');
const openDatabase = () => engine.open();
/** More than a worker reads before it takes a connection to the server. */
const LARGE_BYTES = 65_536;
/** Of a worker to the server; a quarter of them is for bodies that are still to come. */
const CONNECTIONS = 32;
const SLOW = 12;
const REFUSED = SLOW - UNFINISHED_OF_HOST_MAX;

/** A worker in front of a server, and two hosts. */
async function setUp() {
  const database = await openDatabase();
  const app = createSliceApp(createTestPlatform(database));
  app.routes.agent({
    ...{ method: 'PUT', url: '/api/v1/agents/:agent_id/report', access: { limit: 'agent_reports' } },
    ...{ bodyMaxBytes: 2 * LARGE_BYTES, schema: { summary: 'For this test', tags: ['test'] } },
    rawBody: Type.Unknown(),
    handler: async () => {},
  });
  await app.ready();
  const path = join(tmpDir('tidegate-unfinished-').path, 'workers.sock');
  const forwarded = await takeForwarded(app.server, { path, isEncrypted: false, connectionsMax: 64 });
  const worker = createServer(httpLimits(), createForward({ path, most: CONNECTIONS }));
  worker.listen(0, '127.0.0.1');
  await once(worker, 'listening');
  const address = worker.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  onTestFinished(async () => {
    worker.closeAllConnections();
    await new Promise((resolve) => worker.close(resolve));
    await forwarded.close();
    await app.close();
  });

  async function enrol(n: number) {
    const { agentId, familyId } = await insertTestAgent(database, { n });
    const lines = [`x-machine-id: machine-${n}`, `x-test-agent: ${agentId}`, `x-test-family: ${familyId}`];
    return (framing: string) =>
      [
        ...[`PUT /api/v1/agents/${agentId}/report HTTP/1.1`, 'host: x', 'content-type: application/json'],
        ...[...lines, framing, '', ''],
      ].join('\r\n');
  }
  return { port, thief: await enrol(1), other: await enrol(2) };
}

interface Sending {
  socket: Socket;
  /** What came back until now. */
  answer: string;
}

/** Sends these bytes and nothing more. */
function send(port: number, bytes: string): Sending {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  const sending = { socket, answer: '' };
  socket.on('data', (chunk: Buffer) => {
    sending.answer += chunk.toString('latin1');
  });
  socket.write(bytes);
  return sending;
}

const isWaiting = ({ answer }: Sending) => answer === '';
const whole = `"${'x'.repeat(LARGE_BYTES - 2)}"`;
const LENGTH = `content-length: ${LARGE_BYTES}`;

test.each([
  ['of a known length', LENGTH, '"'],
  ['in chunks', 'transfer-encoding: chunked', `8000\r\n"${'x'.repeat(32_767)}\r\n`],
])('slow bodies of one host, %s, keep no report of another from the server', async (_, framing, begun) => {
  const { port, thief, other } = await setUp();
  const slow = Array.from({ length: SLOW }, () => send(port, thief(framing) + begun));
  const report = send(port, other(LENGTH) + whole);
  await expect.poll(() => report.answer).toMatch(/^HTTP\/1\.1 204 /);
  await expect.poll(() => slow.filter((one) => !isWaiting(one)).length).toBe(REFUSED);
  for (const { answer } of slow.filter((one) => !isWaiting(one))) {
    expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: 30\r\n/i);
    expect(answer).toContain('"4 bodies of this host are still to come; ');
  }
  // Its small bodies take no place, and none of the slow ones was cut for them.
  const small = send(port, `${thief('content-length: 2')}{}`);
  await expect.poll(() => small.answer).toMatch(/^HTTP\/1\.1 204 /);
  expect(slow.filter(isWaiting)).toHaveLength(UNFINISHED_OF_HOST_MAX);
});

test('a body that has come, and one whose client is gone, makes room for the next one', async () => {
  const { port, thief } = await setUp();
  const hold = () => send(port, `${thief(LENGTH)}"`);
  const held = Array.from({ length: UNFINISHED_OF_HOST_MAX }, hold);
  const isRefused = async () => {
    const { socket, answer } = await answered(send(port, thief(LENGTH) + whole));
    socket.destroy();
    return answer.startsWith('HTTP/1.1 503 ');
  };
  await expect.poll(isRefused).toBe(true);
  const [first, second] = held;
  first?.socket.write(whole.slice(1));
  await expect.poll(() => first?.answer).toMatch(/^HTTP\/1\.1 204 /);
  await expect.poll(isRefused).toBe(false);
  hold();
  await expect.poll(isRefused).toBe(true);
  second?.socket.destroy();
  await expect.poll(isRefused).toBe(false);
});

async function answered(sending: Sending): Promise<Sending> {
  await once(sending.socket, 'data');
  return sending;
}
