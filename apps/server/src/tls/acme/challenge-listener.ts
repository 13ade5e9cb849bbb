import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { Responder } from './order-certificate.ts';

const CHALLENGE_PATH = '/.well-known/acme-challenge/';
/** Anybody may connect: each connection is short, carries one small request, and there are few of them. */
const CONNECTIONS_MAX = 128;
const HEADER_MAX_BYTES = 8_192;
const TIMES = { requestMs: 5_000, checkMs: 1_000 };
const URL_MAX_CHARS = 2_048;

export interface ChallengeListener extends Responder {
  port: number;
  stop(): Promise<void>;
}

/**
 * Listens over plain HTTP: answers http-01 (RFC 8555, section 8.3), and redirects browsers to `origin`, the https
 * address of this server. The API is not redirected, so that a client with credentials over plain HTTP is noticed.
 * Rejects if it cannot listen there.
 */
export async function listenForChallenges(options: {
  host: string;
  port: number;
  origin: string;
  /** How long a request may take to arrive, and how often that is checked. */
  times?: { requestMs: number; checkMs: number };
}): Promise<ChallengeListener> {
  const { requestMs, checkMs } = options.times ?? TIMES;
  const proofs = new Map<string, string>();
  const server = createServer(
    {
      maxHeaderSize: HEADER_MAX_BYTES,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
    },
    (request, response) => {
      const { status, text, location } = answerTo(request, { proofs, origin: options.origin });
      response.writeHead(status, {
        'content-type': 'text/plain',
        'content-length': Buffer.byteLength(text),
        'x-content-type-options': 'nosniff',
        // One request for each connection; a body is never read.
        connection: 'close',
        ...(location === undefined ? {} : { location }),
      });
      response.end(text);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const address = server.address();
  return {
    type: 'http-01',
    port: typeof address === 'object' && address ? address.port : options.port,
    async respond({ token, keyAuthorization }) {
      proofs.set(token, keyAuthorization);
      return () => void proofs.delete(token);
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Answer {
  status: 200 | 308 | 403 | 404 | 414;
  text: string;
  location?: string;
}

const USE_HTTPS = 'Use https.\n';

function answerTo(
  { method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>,
  { proofs, origin }: { proofs: ReadonlyMap<string, string>; origin: string },
): Answer {
  if (method !== 'GET' && method !== 'HEAD') return { status: 403, text: USE_HTTPS };
  if (url.startsWith(CHALLENGE_PATH)) {
    const proof = proofs.get(url.slice(CHALLENGE_PATH.length));
    return proof === undefined ? { status: 404, text: 'No such challenge.\n' } : { status: 200, text: proof };
  }
  if (!url.startsWith('/') || url.startsWith('/api/')) return { status: 403, text: USE_HTTPS };
  if (url.length > URL_MAX_CHARS) return { status: 414, text: USE_HTTPS };
  return { status: 308, text: USE_HTTPS, location: `${origin}${url}` };
}
