import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { expect, test } from 'vitest';
import { oldHeapGrowth, WEIGHT_OF_ALL } from '../../testing/old-heap.ts';
import { createOpenConnections } from './open-connections.ts';
import { createLoadShedding } from './shed-load.ts';
import { createUntakenAnswers } from './untaken-answers.ts';

type Begin = Parameters<typeof oldHeapGrowth>[0];

const socket = new Socket();

function exchange(weight: number[]) {
  const request = Object.assign(new IncomingMessage(socket), { weight });
  const response = new ServerResponse(request);
  return { request, response, end: () => void response.emit('close') };
}

const HOLDERS: Record<string, () => Begin> = {
  'a lane of requests': () => {
    const shedding = createLoadShedding({
      lanes: [{ name: 'visits', route: '/', inProgressMax: 100, has: () => true }],
      elapsedMs: () => 0,
      random: (bytes) => Buffer.alloc(bytes),
      acceptWait: { watch: () => {}, isLong: () => false },
      onRefused: () => {},
    });
    return (weight) => {
      const { request, response, end } = exchange(weight);
      expect(shedding.refuses(request, response)).toBe(false);
      return end;
    };
  },
  'the connections of a server': () => {
    const connections = createOpenConnections({ filesMax: null, onCrowded: () => {} });
    const server = new Server();
    connections.watch(server);
    return (weight) => {
      const accepted = Object.assign(new EventEmitter(), { weight });
      server.emit('connection', accepted);
      return () => void accepted.emit('close');
    };
  },
  'the connections of a server with TLS': () => {
    const connections = createOpenConnections({ filesMax: null, onCrowded: () => {} });
    const server = new TlsServer().removeAllListeners('connection');
    connections.watch(server);
    let remotePort = 0;
    return (weight) => {
      const peer = { remoteAddress: '127.0.0.1', remotePort: ++remotePort, localAddress: '127.0.0.1' };
      const raw = Object.assign(new EventEmitter(), peer);
      server.emit('connection', raw);
      server.emit('secureConnection', Object.assign(new EventEmitter(), peer, { weight }));
      return () => void raw.emit('close');
    };
  },
  'the answers of a worker': () => {
    const answers = createUntakenAnswers(() => 0);
    return (weight) => {
      const { request, response } = exchange(weight);
      answers.add(request, response);
      request.emit('data', Buffer.alloc(1));
      return () => void request.emit('close');
    };
  },
};

test.each(Object.entries(HOLDERS))(
  '%s keeps nothing that is over until a whole collection',
  async (_, open) => {
    expect(await oldHeapGrowth(open())).toBeLessThan(WEIGHT_OF_ALL / 8);
  },
);

test('what a Map holds for a while is kept until then', async () => {
  const map = new Map<EventEmitter, number[]>();
  const growth = await oldHeapGrowth((weight) => {
    const key = new EventEmitter();
    map.set(key, weight);
    return () => void map.delete(key);
  });
  expect(growth).toBeGreaterThan(WEIGHT_OF_ALL / 2);
});
