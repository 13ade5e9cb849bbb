import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { isObject, parseJson } from './json-shape.ts';

const ANSWER_MAX_BYTES = 16 * 1024 * 1024;
const STALE = new Set(['error ECONNRESET', 'error EPIPE']);

export type FleetRequest = {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers: Record<string, string>;
  body?: string;
  /** The loopback address to call from (127.0.0.0/8), as limits are per address. */
  localAddress?: string;
  /** Over a connection of its own, so that it is never sent anew; waits this long for its answer. */
  apart?: { timeoutMs: number };
};

export type Reply = {
  status: number | string;
  latencyMs: number;
  body: unknown;
  code?: string;
  staleConnections: number;
};

type Answered = Omit<Reply, 'staleConnections'>;

/** Sends requests over kept connections. */
export type FleetClient = { send(request: FleetRequest): Promise<Reply>; stop(): void };

/**
 * At most `connections` are open at once. A reply always comes: errors stand in it as the status `error CODE`.
 * Where the server closed a kept connection just as it was used again, the request is sent anew, and the reply says
 * how often.
 */
export function createFleetClient(options: {
  serverUrl: string;
  connections: number;
  timeoutMs: number;
}): FleetClient {
  const base = new URL(options.serverUrl);
  if (base.protocol !== 'http:') throw new RangeError('a simulated fleet speaks plain http');
  const prefix = base.pathname.replace(/\/$/, '');
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections });

  function once(call: FleetRequest): Promise<Answered | 'stale'> {
    const startMs = performance.now();
    const elapsed = () => performance.now() - startMs;
    const body = call.body === undefined ? {} : { 'content-length': `${Buffer.byteLength(call.body)}` };
    const { promise, resolve } = Promise.withResolvers<Answered | 'stale'>();
    const sent: ClientRequest = request(
      {
        agent: call.apart ? false : agent,
        host: base.hostname,
        port: base.port || 80,
        method: call.method,
        path: prefix + call.path,
        headers: { ...call.headers, ...body },
        ...(call.localAddress === undefined ? {} : { localAddress: call.localAddress }),
      },
      (response) => {
        readAll(response).then(
          (text) => resolve(replyOf(response.statusCode ?? 0, text, elapsed())),
          (error) => resolve({ status: errorOf(error), latencyMs: elapsed(), body: undefined }),
        );
      },
    );
    sent.setTimeout(call.apart?.timeoutMs ?? options.timeoutMs, () => sent.destroy(new Error('timeout')));
    sent.on('error', (error) => {
      const isStale = sent.reusedSocket && STALE.has(errorOf(error));
      resolve(isStale ? 'stale' : { status: errorOf(error), latencyMs: elapsed(), body: undefined });
    });
    sent.end(call.body);
    return promise;
  }

  return {
    send: async (call) => {
      // Each stale connection leaves the pool, so there are at most as many as it can hold.
      for (let staleConnections = 0; staleConnections <= options.connections; staleConnections++) {
        const reply = await once(call);
        if (reply !== 'stale') return { ...reply, staleConnections };
      }
      return { status: 'error stale', latencyMs: 0, body: undefined, staleConnections: options.connections };
    },
    stop: () => agent.destroy(),
  };
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > ANSWER_MAX_BYTES) throw new Error('answer too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function replyOf(status: number, text: string, latencyMs: number): Answered {
  const body = text === '' ? undefined : parseJson(text);
  const code = isObject(body) && typeof body.code === 'string' ? { code: body.code } : {};
  return { status, latencyMs, body, ...code };
}

function errorOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error unknown';
  return `error ${'code' in error && typeof error.code === 'string' ? error.code : error.message}`;
}
