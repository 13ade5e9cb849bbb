import { BACKGROUND_HEADER } from '@tidegate/protocol/headers';
import type { ApiPath } from './api-path.ts';
import type { Session } from './session.ts';

/** A bulk approval waits for its verdicts; no other call takes longer. */
const REQUEST_MAX_MS = 60_000;
/** The largest response of the API is a list of 200 rows. */
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;
/** The request headers that a page may set; the shell sets all others. */
const REQUEST_HEADERS = ['accept', 'content-type', 'last-event-id', BACKGROUND_HEADER];
/** The response headers that a page may see. */
const ANSWER_HEADERS = [
  'content-type',
  'retry-after',
  'x-request-id',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];

export interface ServerRequest {
  readonly method: string;
  readonly path: ApiPath;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}
export interface ServerAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Calls one server with the operator's session. */
export interface ServerConnection {
  /** Throws if the server does not answer, or if the response is too large. */
  request(request: ServerRequest): Promise<ServerAnswer>;
  /** A response that is read as it arrives; the caller ends it by the signal. */
  open(path: ApiPath, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response>;
}

export function connectServer(baseUrl: string, session: Session): ServerConnection {
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/+$/, '');

  async function send(
    { method, path, headers, body }: ServerRequest,
    signal: AbortSignal,
  ): Promise<Response> {
    const kept = REQUEST_HEADERS.flatMap((name) =>
      headers[name] === undefined ? [] : [[name, headers[name]]],
    );
    // The path begins with a slash and is in normal form: never another host, and never outside the API.
    return fetch(origin + prefix + path.target, {
      method,
      headers: { ...Object.fromEntries(kept), ...session.authorization() },
      body,
      // A redirect could take the session to another host.
      redirect: 'error',
      signal,
    });
  }

  return {
    async request(request) {
      const response = await send(request, AbortSignal.timeout(REQUEST_MAX_MS));
      const text = await readText(response);
      const body = await session.withhold({ setCookie: response.headers.getSetCookie(), body: text });
      const { status } = response;
      const headers = ANSWER_HEADERS.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value]];
      });
      return { status, headers: Object.fromEntries(headers), body };
    },
    open: (path, headers, signal) => send({ method: 'GET', path, headers, body: null }, signal),
  };
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_MAX_BYTES) throw new Error('The response of the server is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
