import { BACKGROUND_HEADER } from '@tidegate/protocol/headers';
import type { ApiPath } from './api-path.ts';
import type { Session } from './session.ts';

/** A bulk approval waits for its verdicts; nothing of the API takes longer. */
const REQUEST_MAX_MS = 60_000;
/** The largest answer of the API is a list of 200 rows. */
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;
/** What a page may say of its request; everything else is the shell's. */
const REQUEST_HEADERS = ['accept', 'content-type', 'last-event-id', BACKGROUND_HEADER];
/** What a page gets to see of an answer. */
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

/** Speaks to one server with the session of the operator. */
export interface ServerConnection {
  /** Throws where the server does not answer, or answers with more than the API ever does. */
  request(request: ServerRequest): Promise<ServerAnswer>;
  /** An answer that is read as it comes; the caller ends it by the signal. */
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
    // The path begins with a slash and has one spelling: never another host, and never outside of the API.
    return fetch(origin + prefix + path.target, {
      method,
      headers: { ...Object.fromEntries(kept), ...session.authorization() },
      body,
      // A redirect would take the session to wherever it points.
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
    if (size > ANSWER_MAX_BYTES) throw new Error('The answer of the server is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
