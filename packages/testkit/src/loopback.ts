import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';

/** A server on the loopback interface at a port that the system chose. */
export type Loopback = {
  readonly url: string;
  /** Ends every connection, also those in the middle of an answer, and stops listening. */
  stop(): Promise<void>;
};

/** Listens on 127.0.0.1. The server does not keep the process alive by itself. */
export async function listenOnLoopback(listener: RequestListener): Promise<Loopback> {
  const { port, stop } = await openOnLoopback(createServer(listener));
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** The same for a server that the caller has made, such as one with TLS. */
export async function openOnLoopback(
  server: Server,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Reads a request body of at most `maxBytes`; null when it is longer. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
