import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listenOnOthers } from './other-addresses.ts';

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
  const [error] = await once(connect(port, '127.0.0.2'), 'error');
  expect(error).toMatchObject({ code: 'ECONNREFUSED' });
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
  const [error] = await once(connect(port, '127.0.0.2'), 'error');
  expect(error).toMatchObject({ code: 'ECONNREFUSED' });
});
