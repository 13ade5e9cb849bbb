import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { TestPair } from './certificates.ts';

/** Listens on 127.0.0.1 with TLS. */
export async function listenWithTls(
  pair: TestPair,
  listener: RequestListener,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const server = createServer(pair, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
