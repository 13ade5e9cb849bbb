import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { exchange } from './exchange.ts';
import { takeTurns } from './turns.ts';

export type Handshake = 'none' | 'full' | 'resumed';

export interface NewConnections {
  url: string;
  /** Of the server's certificate; null over plain HTTP. */
  ca: string | null;
  handshake: Handshake;
  seconds: number;
  perSecond: number;
  /** Requests with `connection: close`, sent in turn. */
  requests: readonly Buffer[];
}

/** Sends each request on a connection of its own; how long each took, in milliseconds. */
export async function runNewConnections({ url, ca, handshake, requests, ...pace }: NewConnections) {
  const { hostname: host, port } = new URL(url);
  const to = { host, port: Number(port), noDelay: true };
  const session = handshake === 'resumed' && ca !== null ? await takeSession(to, ca) : undefined;
  let next = 0;
  return takeTurns(pace, async () => {
    const request = requests[next++ % requests.length];
    if (request === undefined) return;
    const socket = ca === null ? await reach(to) : await secure(to, { ca, session });
    await exchange(socket, request);
    socket.destroy();
  });
}

type Target = { host: string; port: number; noDelay: boolean };

function reach(to: Target): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(to);
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

function secure(to: Target, { ca, session }: { ca: string; session: Buffer | undefined }): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...to, ca, servername: 'localhost', ...(session && { session }) });
    socket.once('secureConnect', () => {
      if (socket.isSessionReused() === (session !== undefined)) resolve(socket);
      else reject(new Error(session ? 'the server took no ticket' : 'the handshake was not a full one'));
    });
    socket.once('error', reject);
  });
}

function takeSession(to: Target, ca: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...to, ca, servername: 'localhost' });
    socket.once('session', (session: Buffer) => {
      socket.destroy();
      resolve(session);
    });
    socket.once('error', reject);
  });
}
