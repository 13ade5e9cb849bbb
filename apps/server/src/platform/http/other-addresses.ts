import { lookup } from 'node:dns/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** An address that this machine does not have, such as ::1 without IPv6. */
const ABSENT = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

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
  const opened: Server[] = [];
  const close = () => {
    for (const other of opened) other.close();
  };
  try {
    for (const address of addresses.filter((each) => each !== own.address)) {
      const other = createServer((socket) => server.emit('connection', socket));
      if (await isListening(other, { host: address, port: own.port, ...options })) opened.push(other);
    }
  } catch (error) {
    close();
    throw error;
  }
  server.once('close', close);
}

function isListening(
  server: Server,
  at: { host: string; port: AddressInfo['port']; reusePort?: boolean },
): Promise<boolean> {
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
