import { once } from 'node:events';
import { connect, createServer, type Server, type TcpNetConnectOpts } from 'node:net';

/**
 * A port of 127.0.0.1 that was free a moment ago, for programs that cannot choose one themselves. Another program may
 * take it first: start again with another one then.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await portOf(server);
  const closed = once(server, 'close');
  server.close();
  await closed;
  return port;
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
