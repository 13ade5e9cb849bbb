import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { Server } from 'node:net';
import { PEER_HEADER } from './forward.ts';
import { httpLimits } from './http-limits.ts';

/** Longest path of a socket, in bytes (unix(7)). */
export const SOCKET_PATH_MAX_BYTES = 107;

export interface Forwarded {
  /** Ends what is open; call it when no worker forwards any more. */
  close(): Promise<void>;
}

/**
 * Takes the requests that workers forward over a socket that only this user can open, and hands them to the server as if
 * they had come to it directly: `request.socket` tells the address of the client, and whether it speaks TLS.
 */
export async function takeForwarded(
  server: Server,
  { path, isEncrypted, connectionsMax }: { path: string; isEncrypted: boolean; connectionsMax: number },
): Promise<Forwarded> {
  // Of a server that was killed. The caller holds the data folder.
  rmSync(path, { force: true });
  // Workers end idle connections themselves: an end from here could meet their next request.
  const inner = createServer({ ...httpLimits(), keepAliveTimeout: 0 }, (request, response) => {
    takePeer(request, isEncrypted);
    server.emit('request', request, response);
  });
  inner.maxConnections = connectionsMax;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  inner.once('error', reject);
  inner.listen({ path, backlog: connectionsMax }, resolve);
  await promise;
  chmodSync(path, 0o600);
  return {
    close: () =>
      new Promise((done) => {
        inner.close(() => done());
        inner.closeAllConnections();
      }),
  };
}

function takePeer(request: IncomingMessage, isEncrypted: boolean): void {
  const { headers, rawHeaders, socket } = request;
  const address = headers[PEER_HEADER];
  delete headers[PEER_HEADER];
  const at = rawHeaders.indexOf(PEER_HEADER);
  if (at !== -1) rawHeaders.splice(at, 2);
  Object.defineProperties(socket, {
    remoteAddress: { value: address === '' ? undefined : address, configurable: true },
    encrypted: { value: isEncrypted, configurable: true },
  });
}
