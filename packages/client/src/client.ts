import { setTimeout as timer } from 'node:timers/promises';
import { Agent, type Dispatcher, ProxyAgent, request } from 'undici';
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
/** Default for a whole file, in milliseconds; a server writes no longer. */
export const FILE_TIMEOUT_MS = 10 * 60_000;
/** Largest answer, in bytes; files have no limit, as they are not held. */
export const ANSWER_MAX_BYTES = 64 * 1_048_576;
/** Most items that `list` gathers unless it is told another limit. */
export const ITEMS_MAX = 10_000;
const PAGE = 200;
const JSON_TYPE = 'application/json';

export interface ClientOptions {
  /** `https://tidegate.example`; a path in front of `/api` is kept. */
  readonly baseUrl: string;
  /** An API token (`tg_…`), or the token of a login; omitted for operations that are open to everybody. */
  readonly token?: string;
  /** Certificates in PEM that are trusted in place of the system's. */
  readonly ca?: string;
  /** `http://` or `https://` of a proxy, with its user name and password if it wants any. Without it: no proxy. */
  readonly proxyUrl?: string;
  /** CALL_TIMEOUT_MS, and FILE_TIMEOUT_MS for a file, unless set. */
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

/** The media type, and who gets the pieces. */
export interface FileForm {
  readonly accept: string;
  readonly take: (piece: string) => void | Promise<void>;
}

export interface Taken {
  readonly ok: true;
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
  /**
   * Passes on an answer in another form, such as `text/csv` of a list, a piece at a time as it arrives. The next piece
   * waits for `take`, which must not throw. A fault may come after pieces: what was taken is then not whole.
   */
  file<K extends OperationName>(operation: K, asked: Asked<K>, as: FileForm): Promise<Taken | Failure<K>>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** A client for one server. Follows no redirect, so that the token goes nowhere else. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, token, ca, proxyUrl, timeoutMs, wait = waitFor } = options;
  const open = (limits: { maxResponseSize?: number }) =>
    proxyUrl === undefined
      ? new Agent({ ...limits, ...(ca === undefined ? {} : { connect: { ca } }) })
      : new ProxyAgent({ ...limits, uri: proxyUrl, ...(ca === undefined ? {} : { requestTls: { ca } }) });
  const [dispatcher, ofFiles] = [open({ maxResponseSize: ANSWER_MAX_BYTES }), open({})];

  function ask(operation: OperationName, given: Given, how: How) {
    const { method, url } = urlOf(baseUrl, operation, given);
    const { body } = given;
    const { accept, ...options } = how;
    return request(url, {
      ...{ ...options, method },
      headers: {
        accept: `${accept}, application/problem+json`,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async function send(operation: OperationName, given: Given, signal: AbortSignal) {
    const answer = await ask(operation, given, { dispatcher, signal, accept: JSON_TYPE });
    const mediaType = mediaTypeOf(answer);
    const received: Received = { status: answer.statusCode, mediaType, text: await answer.body.text() };
    return { received, retryAfterMs: retryAfterMs(answer.headers['retry-after']) };
  }

  async function call<K extends OperationName>(operation: K, asked: Asked<K>): Promise<Outcome<K>> {
    return within(timeoutMs ?? CALL_TIMEOUT_MS, async (signal) => {
      for (let requests = 1; ; requests++) {
        const { received, retryAfterMs: waitMs } = await send(operation, asked, signal);
        const isLater = received.status === 429 && waitMs !== null && waitMs <= WAIT_MAX_MS;
        if (!isLater || requests === REQUESTS_MAX) return readAnswer(operation, received);
        await wait(waitMs, signal);
      }
    });
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
        if (!isPage<ItemOf<K>>(body)) return failedAs(status, 'the answer is no page of a list');
        items.push(...body.items.slice(0, itemsMax - items.length));
        cursor = body.next_cursor;
        if (cursor !== null && items.length < itemsMax) continue;
        return { ok: true, items, answer: { ...page.body, items }, isWhole: cursor === null };
      }
    },
    async file<K extends OperationName>(operation: K, asked: Asked<K>, { accept, take }: FileForm) {
      return within<Taken | Failure<K>>(timeoutMs ?? FILE_TIMEOUT_MS, async (signal) => {
        const answer = await ask(operation, asked, { dispatcher: ofFiles, signal, accept });
        const [status, mediaType] = [answer.statusCode, mediaTypeOf(answer)];
        if (status !== 200 || mediaType !== accept) {
          const read = readAnswer(operation, { status, mediaType, text: await answer.body.text() });
          return read.ok ? failedAs(status, `the answer is not ${accept}`) : read;
        }
        for await (const piece of answer.body.setEncoding('utf8')) await take(String(piece));
        return { ok: true };
      });
    },
    close: async () => void (await Promise.all([dispatcher.close(), ofFiles.close()])),
  };
}

interface How {
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly accept: string;
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

function failedAs(status: number, detail: string): Failure<never> {
  return { ok: false, fault: { kind: 'not_tidegate', status, detail } };
}

/** What the work returns, or why there is no answer in time. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T | Failure<never>> {
  const signal = AbortSignal.timeout(ms);
  try {
    return await work(signal);
  } catch (error) {
    if (signal.aborted) return failed('timeout', `no answer within ${ms} ms`);
    return failed('unreachable', error instanceof Error ? error.message : String(error));
  }
}

function mediaTypeOf({ headers }: Pick<Dispatcher.ResponseData, 'headers'>): string {
  const type = headers['content-type'];
  return (Array.isArray(type) ? type[0] : type)?.split(';', 1)[0]?.trim() ?? '';
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
