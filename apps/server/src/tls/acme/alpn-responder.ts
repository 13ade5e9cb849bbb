import type { Socket } from 'node:net';
import { createSecureContext, createServer, type SecureContext, type Server } from 'node:tls';
import { ACME_PROTOCOL, HELLO_MAX_BYTES, offersAcme } from './client-hello.ts';
import { makeChallengeCertificate } from './make-certificates.ts';
import type { Responder } from './order-certificate.ts';

/** How long a client may take over its ClientHello, in milliseconds. */
const HELLO_MAX_MS = 10_000;

export interface AlpnResponder extends Responder {
  attach(server: Server): void;
}

/**
 * Answers tls-alpn-01 (RFC 8737) on the port of the server itself. OpenSSL chooses the certificate before it tells the
 * protocol, so while a challenge is open the ClientHello of each connection is read in front of the server. Every client
 * but the ACME server gets the ordinary certificate, and without an open challenge nothing is read.
 */
export function createAlpnResponder(
  now: () => number,
  { helloMs = HELLO_MAX_MS }: { helloMs?: number } = {},
): AlpnResponder {
  const contexts = new Map<string, SecureContext>();
  const challenges = createServer(
    {
      ALPNProtocols: [ACME_PROTOCOL],
      handshakeTimeout: helloMs,
      SNICallback: (name, done) => {
        const context = contexts.get(name.toLowerCase());
        if (context) done(null, context);
        else done(new Error('no challenge for this name'));
      },
    },
    // The handshake was the answer.
    (socket) => socket.end(),
  );
  challenges.on('tlsClientError', (_error, socket) => socket.destroy());

  return {
    type: 'tls-alpn-01',
    async respond({ name, keyAuthorization }) {
      const pair = await makeChallengeCertificate(name, { keyAuthorization, nowMs: now() });
      contexts.set(name, createSecureContext(pair));
      return () => void contexts.delete(name);
    },
    attach(server) {
      const handlers = server.listeners('connection');
      const handle = (socket: Socket) => {
        for (const handler of handlers) handler.call(server, socket);
      };
      server.removeAllListeners('connection');
      server.on('connection', (socket: Socket) => {
        if (contexts.size === 0) {
          handle(socket);
          return;
        }
        sort(socket, {
          helloMs,
          challenge: () => challenges.emit('connection', socket),
          ordinary: () => handle(socket),
        });
      });
    },
  };
}

/** Reads the ClientHello, puts it back, and passes the connection on. */
function sort(socket: Socket, to: { helloMs: number; challenge: () => void; ordinary: () => void }): void {
  let bytes = Buffer.alloc(0);
  const end = () => void socket.destroy();
  const timer = setTimeout(end, to.helloMs);
  socket.on('error', end);
  socket.once('close', () => clearTimeout(timer));
  socket.on('readable', function read() {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read())
      bytes = Buffer.concat([bytes, chunk]);
    const offer = offersAcme(bytes);
    if (offer === 'partial' && bytes.length <= HELLO_MAX_BYTES && !socket.readableEnded) return;
    clearTimeout(timer);
    socket.off('readable', read);
    socket.off('error', end);
    if (bytes.length > 0) socket.unshift(bytes);
    if (offer === 'yes') to.challenge();
    else to.ordinary();
  });
}
