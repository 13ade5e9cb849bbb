/** A process that prints how much of what is over the named holder leaves in the old part of the heap, in bytes. */
import assert from 'node:assert';
import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { createOpenConnections } from '../platform/http/open-connections.ts';
import { createLoadShedding } from '../platform/http/shed-load.ts';
import { createUntakenAnswers } from '../platform/http/untaken-answers.ts';
import { type Begin, oldHeapGrowth } from './old-heap.ts';

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
      assert(!shedding.refuses(request, response));
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
  'a Map': () => {
    const map = new Map<EventEmitter, number[]>();
    return (weight) => {
      const key = new EventEmitter();
      map.set(key, weight);
      return () => void map.delete(key);
    };
  },
};

const [, , name = ''] = process.argv;
const open = HOLDERS[name];
if (open === undefined) throw new Error(`No holder is called ${name}`);
console.log(await oldHeapGrowth(open()));
