import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createOpenConnections, openFilesMax } from './open-connections.ts';

async function open(filesMax: number | null) {
  const crowded: number[] = [];
  const connections = createOpenConnections({ filesMax, onCrowded: (count) => void crowded.push(count) });
  const server = createServer((_, response) => {
    connections.endIfCrowded(response);
    response.end('served');
  });
  connections.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  /** Sends a request on a new connection; the answer's header `connection`, or null if there is no answer. */
  async function ask(socket: Socket = connect({ port, host: '127.0.0.1' })) {
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const answer = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => null)]);
    return { socket, kept: answer && /^connection: (\S+)/im.exec(String(answer[0]))?.[1] };
  }
  return { ask, crowded };
}

test('connections are kept up to four fifths of the open files; past it they end with their answer, and there is an end', async () => {
  const { ask, crowded } = await open(10);
  const kept = [];
  for (let n = 0; n < 8; n++) kept.push(await ask());
  expect(kept.map((one) => one.kept)).toEqual(Array.from({ length: 8 }, () => 'keep-alive'));
  const ninth = await ask();
  expect(ninth.kept).toBe('close');
  expect(crowded).toEqual([9]);
  await once(ninth.socket, 'close');
  // One that sends nothing takes a place as well.
  const silent = connectTo(kept[0]?.socket);
  await once(silent, 'connect');
  expect((await ask()).kept).toBeNull();
  silent.destroy();
  const [first] = kept;
  first?.socket.destroy();
  await expect.poll(async () => (await ask()).kept).toBe('keep-alive');
});

test('without a known limit every connection is kept', async () => {
  const { ask } = await open(null);
  for (let n = 0; n < 20; n++) expect((await ask()).kept).toBe('keep-alive');
});

if (process.platform === 'linux')
  test('Linux tells the limit of open files', () => {
    expect(openFilesMax()).toBeGreaterThan(100);
  });

function connectTo(other: Socket | undefined): Socket {
  const socket = connect({ port: other?.remotePort ?? 0, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  return socket;
}
