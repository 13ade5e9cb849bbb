import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { exchange } from './exchange.ts';
import { takeTurns } from './turns.ts';

/** What a process that holds sockets is told; it answers each with a `HeldAnswer`. */
export type HeldOrder =
  | { kind: 'open'; host: string; port: number; ca: string | null; firstAddress: number; requests: string[] }
  | { kind: 'poll'; seconds: number; perSecond: number | null };

export interface HeldAnswer {
  requests: number;
  latenciesMs: number[];
  /** Sockets that the server has ended. */
  ended: number;
}

/** Connections that are opened at once. */
const AT_ONCE = 8;
const ATTEMPTS = 20;
const PAUSE_MS = 100;
/** One address has about 28,000 ports. */
const SOCKETS_OF_ADDRESS = 10_000;

const held: { socket: Socket; request: string }[] = [];
let ended = 0;
let next = 0;

process.once('disconnect', () => process.exit());
process.on('message', (order: HeldOrder) => {
  const work = order.kind === 'open' ? openAll(order) : poll(order);
  work.then(
    (latenciesMs) => {
      const answer: HeldAnswer = { requests: latenciesMs.length, latenciesMs, ended };
      process.send?.(answer);
    },
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});

/** Opens a socket for each request, sends it and keeps the socket. */
async function openAll({ host, port, ca, firstAddress, requests }: HeldOrder & { kind: 'open' }) {
  const latenciesMs: number[] = [];
  let begun = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (;;) {
        const n = begun++;
        const request = requests[n];
        if (request === undefined) return;
        const localAddress = `127.0.0.${firstAddress + Math.floor(n / SOCKETS_OF_ADDRESS)}`;
        const startMs = performance.now();
        const socket = await openOne({ host, port, localAddress }, { ca, request });
        latenciesMs.push(performance.now() - startMs);
        held.push({ socket, request });
        socket.once('close', () => void ended++);
      }
    }),
  );
  return latenciesMs;
}

type Target = { host: string; port: number; localAddress: string };

/** The server takes connections without a gap for a herd and refuses some: those come again. */
async function openOne(to: Target, { ca, request }: { ca: string | null; request: string }): Promise<Socket> {
  for (let attempt = 1; ; attempt++) {
    const socket = await open(to, ca);
    try {
      await exchange(socket, request);
      return socket;
    } catch (error) {
      socket.destroy();
      if (attempt === ATTEMPTS) throw error;
      await pause(PAUSE_MS);
    }
  }
}

function open(to: Target, ca: string | null): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const raw = connect({ ...to, noDelay: true });
    // `tls.connect` does not take a local address.
    const socket = ca === null ? raw : connectTls({ socket: raw, ca, servername: 'localhost' });
    socket.once(ca === null ? 'connect' : 'secureConnect', () => resolve(socket));
    raw.once('error', reject);
    socket.once('error', reject);
  });
}

/** Check-ins over all sockets in turn. */
function poll({ seconds, perSecond }: HeldOrder & { kind: 'poll' }): Promise<number[]> {
  return takeTurns({ seconds, perSecond: perSecond ?? Number.POSITIVE_INFINITY }, async () => {
    const { socket, request } = nextOpen();
    await exchange(socket, request);
  });
}

/** A slow run leaves some idle for longer than the server keeps them. */
function nextOpen(): { socket: Socket; request: string } {
  for (let tries = 0; tries < held.length; tries++) {
    const one = held[next++ % held.length];
    if (one !== undefined && !one.socket.destroyed) return one;
  }
  throw new Error('the server has ended every socket');
}
