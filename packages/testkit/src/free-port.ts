import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type TcpNetConnectOpts } from 'node:net';

/** Below the ports that systems give to whoever asks for any: Linux begins at 32768. */
const FIRST_PORT = 20_000;
/** Each worker of a run of vitest has so many ports of its own. */
const PORTS_A_WORKER = 1_000;
const WORKERS_MAX = 12;
const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS_MAX;
let next = randomInt(PORTS_A_WORKER);

/**
 * A port of 127.0.0.1 that is free, for programs that cannot choose one themselves, or begin again on the same one. Neither
 * a connection nor a listener on port 0 takes it meanwhile, nor another test of this run; one of another run may.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + worker * PORTS_A_WORKER + (next++ % PORTS_A_WORKER);
    if (await canListen(port)) return port;
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  const closed = once(server, 'close');
  server.close();
  await closed;
  return true;
}

/** Listens on 127.0.0.1 and returns the port that the system chose. */
export async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

/** Whether somebody listens on this port of 127.0.0.1. */
export async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Waits until connections to what was just closed are refused. A child that another test starts holds the listeners of this
 * process until its program runs: meanwhile connections are made, and break. Throws any other error.
 */
export async function untilRefused(at: TcpNetConnectOpts): Promise<void> {
  for (;;) {
    const [error] = await once(connect(at), 'error');
    if (error.code === 'ECONNREFUSED') return;
    if (error.code !== 'ECONNRESET') throw error;
  }
}
