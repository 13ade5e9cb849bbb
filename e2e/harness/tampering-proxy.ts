import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** One request and its response, as an attacker on the network sees them. */
export type Exchange = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The parsed JSON of the response; null if it has none. */
  readonly body: unknown;
};

/** Returns the body to send instead, or the given body to leave the response unchanged. */
export type Tampering = (exchange: Exchange) => unknown;

export type TamperingProxy = {
  readonly url: string;
  /** Changes responses if it is set. */
  tamper: Tampering | null;
  stop(): Promise<void>;
};

/** Hop-by-hop headers, and those that the new body changes. */
const DROPPED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date']);

/** A loopback HTTP proxy between agent and server that can rewrite every response. */
export async function startTamperingProxy(target: string): Promise<TamperingProxy> {
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const proxy: TamperingProxy = {
    url: `http://127.0.0.1:${address.port}`,
    tamper: null,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = incoming;
    const onward = request(`${target}${path}`, { method, headers: incoming.headers, agent: false });
    onward.end(await buffer(incoming));
    const answer = await answerOf(onward);
    const bytes = await buffer(answer);
    const status = answer.statusCode ?? 502;
    const changed = tampered({ method, path, status, body: parsed(bytes) }, bytes);
    for (const [name, value] of Object.entries(answer.headers)) {
      if (value !== undefined && !DROPPED.has(name)) outgoing.setHeader(name, value);
    }
    outgoing.writeHead(status).end(changed);
  }

  function tampered(exchange: Exchange, bytes: Buffer): Buffer {
    const { tamper } = proxy;
    if (tamper === null || exchange.body === null) return bytes;
    return Buffer.from(JSON.stringify(tamper(exchange)));
  }

  return proxy;
}

async function answerOf(onward: ReturnType<typeof request>): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  onward.once('response', resolve);
  onward.once('error', reject);
  return promise;
}

function parsed(bytes: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return value;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
