import { lookup } from 'node:dns/promises';
import { createServer, type Server } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { BODY_BUFFER_BYTES } from './http-limits.ts';
import { openFilesMax } from './open-connections.ts';

/** An address that this machine does not have, such as ::1 without IPv6. */
const ABSENT = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);
/** Most listeners of a process on its address, and open files that each of them needs at least. */
const LISTENERS_MAX = 64;
const FILES_OF_EACH = 64;

/** Whether the kernel divides connections among the listeners of a port. Elsewhere one of them gets all, or there can be only one. */
export const SHARES_PORTS = process.platform === 'linux';

interface At {
  host: string;
  port: number;
  reusePort?: boolean;
}

/**
 * Lets a server that listens on one address of a name take the connections of the others too, on the same port, until it
 * is closed. `localhost` has two addresses, and a server listens on one. Addresses that this machine does not have are left
 * out. Rejects with the error of the first that cannot be taken for another reason; then none of them is.
 */
export async function listenOnOthers(
  server: Server,
  addresses: readonly string[],
  options: { reusePort?: boolean } = {},
): Promise<void> {
  const own = server.address();
  if (own === null || typeof own === 'string') return;
  const others = addresses.filter((each) => each !== own.address);
  await listenBeside(
    server,
    others.map((host) => ({ host, port: own.port, ...options })),
  );
}

/**
 * Opens further listeners on the address of a server that listens with `reusePort`. libuv accepts one connection of each in a
 * turn of the event loop: with one listener a fleet that comes back at once fills the queue of the kernel, and whoever finds
 * it full tries again after seconds.
 */
export async function listenMore(server: Server, filesMax = openFilesMax()): Promise<void> {
  const own = server.address();
  if (own === null || typeof own === 'string') return;
  const at = { host: own.address, port: own.port, reusePort: true };
  const others = Array.from({ length: listenersOf(filesMax) - 1 }, () => at);
  await listenBeside(server, others);
}

function listenersOf(filesMax: number | null): number {
  if (filesMax === null) return LISTENERS_MAX;
  return Math.max(1, Math.min(LISTENERS_MAX, Math.floor(filesMax / FILES_OF_EACH)));
}

/** The server takes their connections, closes them when it is closed, and is closed when they are. */
async function listenBeside(server: Server, all: readonly At[]): Promise<void> {
  const opened: Server[] = [];
  const close = () => Promise.all(opened.map((one) => new Promise((resolve) => one.close(resolve))));
  // As servers of HTTP listen.
  const options = {
    ...{ noDelay: true, highWaterMark: BODY_BUFFER_BYTES },
    allowHalfOpen: !(server instanceof TlsServer),
  };
  try {
    for (const at of all) {
      const other = createServer(options, (socket) => server.emit('connection', socket));
      if (await isListening(other, at)) opened.push(other);
    }
  } catch (error) {
    await close();
    throw error;
  }
  const closeOwn = server.close.bind(server);
  server.close = (done) => {
    const closing = close();
    return closeOwn((error) => void closing.then(() => done?.(error)));
  };
}

function isListening(server: Server, at: At): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  server.once('error', (error: NodeJS.ErrnoException) => {
    if (ABSENT.has(error.code ?? '')) resolve(false);
    else reject(error);
  });
  server.listen(at, () => resolve(true));
  return promise;
}

/** The addresses of a name. */
export async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
