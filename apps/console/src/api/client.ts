import { BACKGROUND_HEADER } from '@tidegate/protocol/headers';
import type { Problem } from '@tidegate/protocol/problems';
import { isAttended } from './activity.ts';
import { noteServerTime } from './server-time.ts';

/** A response that is not a success, or no usable response at all. */
export class ApiError extends Error {
  readonly status: number;
  /** The problem's code; `unreachable` without a response, `no_problem` if the body is not a problem document. */
  readonly code: string;
  readonly requestId: string | null;
  /** The whole problem, with the members of its code. */
  readonly problem: (Problem & Record<string, unknown>) | null;

  constructor(failure: {
    status: number;
    code: string;
    message: string;
    requestId?: string | null;
    problem?: (Problem & Record<string, unknown>) | null;
  }) {
    super(failure.message);
    this.name = 'ApiError';
    this.status = failure.status;
    this.code = failure.code;
    this.requestId = failure.requestId ?? null;
    this.problem = failure.problem ?? null;
  }
}

/** Values of a query string; absent ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Call {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** One page of a list (docs/protocol/approvals.md, "Lists"). */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
  readonly total: number;
  /** There are more than the server counted. */
  readonly total_is_capped?: true;
}

/** Returns the parsed body; null for an empty one (204). Throws an ApiError for anything but a success. */
export async function call<T>(method: string, path: string, options: Call = {}): Promise<T> {
  const text = await read(method, path, { ...options, accept: 'application/json' });
  return JSON.parse(text === '' ? 'null' : text);
}

/** The body as a file of this media type. Throws like `call`. */
export const getFile = (path: string, options: Call & { readonly accept: string }): Promise<string> =>
  read('GET', path, options);

/** Once more after a login, if the session has ended meanwhile. */
async function read(
  method: string,
  path: string,
  options: Call & { readonly accept: string },
): Promise<string> {
  try {
    return await readOnce(method, path, options);
  } catch (error) {
    const hasEnded = error instanceof ApiError && error.status === 401 && !path.startsWith('/api/v1/auth/');
    if (!hasEnded || !(await askForLogin?.({ isAct: method !== 'GET' }))) throw error;
    return readOnce(method, path, options);
  }
}

async function readOnce(
  method: string,
  path: string,
  { query, body, signal, accept }: Call & { readonly accept: string },
): Promise<string> {
  const headers: Record<string, string> = { accept };
  if (!isAttended()) headers[BACKGROUND_HEADER] = '1';
  if (body !== undefined) headers['content-type'] = 'application/json';
  const csrf = csrfToken();
  if (method !== 'GET' && csrf !== null) headers['x-csrf-token'] = csrf;
  const response = await reach(path + search(query), {
    method,
    headers,
    credentials: 'same-origin',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  noteServerTime(response.headers.get('date'));
  if (!response.ok) throw await failureOf(response);
  return response.text();
}

type AskForLogin = (asked: { readonly isAct: boolean }) => Promise<boolean>;
let askForLogin: AskForLogin | null = null;

/** Sets who asks for the login once the session has ended; false where nobody logged in. */
export function onSessionEnd(ask: AskForLogin): () => void {
  askForLogin = ask;
  return () => {
    askForLogin = null;
  };
}

export const get = <T>(path: string, options?: Call): Promise<T> => call<T>('GET', path, options);
export const post = <T>(path: string, body?: unknown): Promise<T> => call<T>('POST', path, { body });
export const put = <T>(path: string, body?: unknown): Promise<T> => call<T>('PUT', path, { body });
export const patch = <T>(path: string, body?: unknown): Promise<T> => call<T>('PATCH', path, { body });
export const remove = (path: string): Promise<void> => call<void>('DELETE', path);

/** `?a=1&b=2` without absent or empty values; an empty string if none are left. */
export function search(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError({ status: 0, code: 'unreachable', message: 'The server does not answer.' });
  }
}

async function failureOf(response: Response): Promise<ApiError> {
  const { status } = response;
  const requestId = response.headers.get('x-request-id');
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true;
  if (!isProblem) {
    const message = `The response (${status}) is not from this server: a proxy may have sent it.`;
    return new ApiError({ status, code: 'no_problem', message, requestId });
  }
  const problem: Problem & Record<string, unknown> = await response.json();
  return new ApiError({ status, code: problem.code, message: problem.detail, requestId, problem });
}

/** The CSRF token, which only scripts of this origin can read; no script can read the session cookie. */
function csrfToken(): string | null {
  const found = document.cookie.match(/(?:^|; )(?:__Host-)?tidegate_csrf=([\w-]+)/);
  return found?.[1] ?? null;
}
