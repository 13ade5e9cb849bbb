import { setTimeout as timer } from 'node:timers/promises';
import { Agent, ProxyAgent, request } from 'undici';
import type { Api } from './api.ts';
import type { Failure, OperationName, Outcome } from './outcome.ts';
import { type Received, readAnswer } from './read-answer.ts';
import { urlOf } from './request-url.ts';

/** Default for a whole call, its waits included, in milliseconds. */
export const CALL_TIMEOUT_MS = 60_000;
/** Longest wait that the client takes on itself when it is asked to come back later, in milliseconds. */
export const WAIT_MAX_MS = 30_000;
/** Most requests of one call: the first, and those after a 429. */
export const REQUESTS_MAX = 4;
/** Largest answer, in bytes. */
export const ANSWER_MAX_BYTES = 64 * 1_048_576;
/** Most items that `list` gathers unless it is told another limit. */
export const ITEMS_MAX = 10_000;
const PAGE = 200;

export interface ClientOptions {
  /** `https://tidegate.example`; a path in front of `/api` is kept. */
  readonly baseUrl: string;
  /** An API token (`tg_…`), or the token of a login; omitted for operations that are open to everybody. */
  readonly token?: string;
  /** Certificates in PEM that are trusted in place of the system's. */
  readonly ca?: string;
  /** `http://` or `https://` of a proxy, with its user name and password if it wants any. Without it: no proxy. */
  readonly proxyUrl?: string;
  /** CALL_TIMEOUT_MS unless set. */
  readonly timeoutMs?: number;
  /** For tests. Rejects when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What an operation takes: `path`, `query` and `body`, as the document says. */
export type Asked<K extends OperationName> = Pick<Api[K], Extract<keyof Api[K], 'path' | 'query' | 'body'>>;

/** The operations that answer with pages of items. */
export type ListName = {
  [K in OperationName]: Api[K] extends {
    answer: { items: unknown[]; next_cursor: string | null };
    query?: { cursor?: string };
  }
    ? K
    : never;
}[OperationName];

export type ItemOf<K extends ListName> = Api[K]['answer'] extends { items: (infer I)[] } ? I : never;

export interface Gathered<K extends ListName> {
  readonly ok: true;
  readonly items: readonly ItemOf<K>[];
  /** The newest answer of the server, with all items: its cursor goes on after the last of them. */
  readonly answer: Api[K]['answer'];
  /** False: there are more than were asked for. */
  readonly isWhole: boolean;
}

export interface Client {
  /**
   * Calls one operation. A 429 is repeated after its `Retry-After`, up to REQUESTS_MAX requests and while the time of the
   * call lasts; the server has done nothing then. Nothing else is repeated. Never throws for what a server answers.
   */
  call<K extends OperationName>(operation: K, asked: Asked<K>): Promise<Outcome<K>>;
  /** Follows the cursors of a list from the first page. Stops at `itemsMax`, or ITEMS_MAX. */
  list<K extends ListName>(
    operation: K,
    asked: Asked<K>,
    options?: { readonly itemsMax?: number },
  ): Promise<Gathered<K> | Failure<K>>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** A client for one server. Follows no redirect, so that the token goes nowhere else. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, token, ca, proxyUrl, timeoutMs = CALL_TIMEOUT_MS, wait = waitFor } = options;
  const limits = { maxResponseSize: ANSWER_MAX_BYTES };
  const dispatcher =
    proxyUrl === undefined
      ? new Agent({ ...limits, ...(ca === undefined ? {} : { connect: { ca } }) })
      : new ProxyAgent({ ...limits, uri: proxyUrl, ...(ca === undefined ? {} : { requestTls: { ca } }) });

  async function send(operation: OperationName, given: Given, signal: AbortSignal) {
    const { method, url } = urlOf(baseUrl, operation, given);
    const { body } = given;
    const answer = await request(url, {
      ...{ dispatcher, method, signal },
      headers: {
        accept: 'application/json, application/problem+json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const type = answer.headers['content-type'];
    const mediaType = (Array.isArray(type) ? type[0] : type)?.split(';', 1)[0]?.trim() ?? '';
    const received: Received = { status: answer.statusCode, mediaType, text: await answer.body.text() };
    return { received, retryAfterMs: retryAfterMs(answer.headers['retry-after']) };
  }

  async function call<K extends OperationName>(operation: K, asked: Asked<K>): Promise<Outcome<K>> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      for (let requests = 1; ; requests++) {
        const { received, retryAfterMs: waitMs } = await send(operation, asked, signal);
        const isLater = received.status === 429 && waitMs !== null && waitMs <= WAIT_MAX_MS;
        if (!isLater || requests === REQUESTS_MAX) return readAnswer(operation, received);
        await wait(waitMs, signal);
      }
    } catch (error) {
      if (signal.aborted) return failed('timeout', `no answer within ${timeoutMs} ms`);
      return failed('unreachable', error instanceof Error ? error.message : String(error));
    }
  }

  return {
    call,
    async list<K extends ListName>(operation: K, asked: Asked<K>, { itemsMax = ITEMS_MAX } = {}) {
      const items: ItemOf<K>[] = [];
      let cursor: string | null = null;
      for (;;) {
        const limit = String(Math.min(PAGE, itemsMax - items.length));
        const query: object = { limit, ...queryOf(asked), ...(cursor === null ? {} : { cursor }) };
        const page: Outcome<K> = await call(operation, { ...asked, query });
        if (!page.ok) return page;
        const { status } = page;
        const body: unknown = page.body;
        if (!isPage<ItemOf<K>>(body)) return failedBy(status);
        items.push(...body.items.slice(0, itemsMax - items.length));
        cursor = body.next_cursor;
        if (cursor !== null && items.length < itemsMax) continue;
        return { ok: true, items, answer: { ...page.body, items }, isWhole: cursor === null };
      }
    },
    close: () => dispatcher.close(),
  };
}

export interface Given {
  readonly path?: object;
  readonly query?: object;
  readonly body?: unknown;
}

function queryOf({ query = {} }: Given): object {
  return query;
}

interface Page<I> {
  readonly items: readonly I[];
  readonly next_cursor: string | null;
}

function isPage<I>(body: unknown): body is Page<I> {
  if (body === null || typeof body !== 'object' || !('items' in body) || !('next_cursor' in body))
    return false;
  return Array.isArray(body.items) && (body.next_cursor === null || typeof body.next_cursor === 'string');
}

function failedBy(status: number): Failure<never> {
  return { ok: false, fault: { kind: 'not_tidegate', status, detail: 'the answer is no page of a list' } };
}

function failed(kind: 'timeout' | 'unreachable', detail: string): Failure<never> {
  return { ok: false, fault: { kind, detail } };
}

/** Null where the header is no number of seconds. */
function retryAfterMs(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : null;
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await timer(ms, undefined, { signal });
}
