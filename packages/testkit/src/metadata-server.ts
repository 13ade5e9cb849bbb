import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerFaultily, type Fault, isFault } from './faults.ts';
import { listenOnLoopback } from './loopback.ts';

/**
 * How a registry of metadata behaves.
 * - `redirect`: 302 to another address of the same server, which answers well
 * - `cut`: the answer ends in the middle; `compressed`: bytes that say they are gzip
 * - `endless`: spaces without end, until the reader leaves
 */
export type MetadataMode = Fault | 'up' | 'redirect' | 'cut' | 'compressed' | 'endless';

export type MetadataServer = {
  readonly url: string;
  mode: MetadataMode;
  /** Path of every request in the order of arrival, also of those that a fault swallowed. */
  readonly requests: string[];
  /** Answers this path with these very bytes, whatever is published. */
  answerRaw(path: string, body: string | Buffer): void;
  /** Holds every answer back until the returned function is called. */
  hold(): () => void;
  stop(): Promise<void>;
};

const REDIRECTED = '/redirected';
const SPACES = ' '.repeat(65_536);

/** Serves what `answer` gives for a path: JSON, or 404 for undefined. */
export async function startMetadataServer(answer: (path: string) => unknown): Promise<MetadataServer> {
  const raw = new Map<string, string | Buffer>();
  let held: Promise<void> = Promise.resolve();
  const { url, stop } = await listenOnLoopback((request, response) => {
    handle(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  const server: MetadataServer = {
    url,
    stop,
    mode: 'up',
    requests: [],
    answerRaw: (path, body) => void raw.set(path, body),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    server.requests.push(path);
    await held;
    const { mode } = server;
    if (isFault(mode)) return answerFaultily(mode, request, response);
    switch (mode) {
      case 'redirect':
        if (path.startsWith(REDIRECTED)) return send(response, path.slice(REDIRECTED.length));
        return void response.writeHead(302, { location: url + REDIRECTED + path }).end();
      case 'cut':
        response.writeHead(200, { 'content-type': 'application/json' });
        return void response.write(JSON.stringify(answer(path) ?? {}).slice(0, -1), () => response.destroy());
      case 'compressed':
        response.writeHead(200, { 'content-encoding': 'gzip' });
        return void response.end(Buffer.from('1f8b08', 'hex'));
      case 'endless':
        response.writeHead(200, { 'content-type': 'application/json' });
        return writeEndlessly(response);
      case 'up':
        return send(response, path);
    }
  }

  async function send(response: ServerResponse, path: string): Promise<void> {
    const bytes = raw.get(path);
    const body = bytes === undefined ? answer(path) : undefined;
    const status = bytes === undefined && body === undefined ? 404 : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(bytes ?? JSON.stringify(body ?? { message: 'Not Found' }));
  }

  return server;
}

async function writeEndlessly(response: ServerResponse): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  response.once('close', resolve);
  while (!response.destroyed) {
    if (!response.write(SPACES)) await Promise.race([closed, once(response, 'drain')]);
  }
}
