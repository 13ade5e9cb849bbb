import { BACKGROUND_HEADER } from '@tidegate/protocol/headers';
import type { Problem } from '@tidegate/protocol/problems';
import { isAttended } from './activity.ts';

/** An answer that is not a success: what the server said, or that it did not say anything we know. */
export class ApiError extends Error {
  readonly status: number;
  /** The code of the problem; `unreachable` without an answer, `no_problem` for a body that is not ours. */
  readonly code: string;
  readonly requestId: string | null;
  /** The whole problem with the members of its code. */
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
  /** There are more than the server counts. */
  readonly total_is_capped?: true;
}

/** Answers the parsed body; null for an empty one (204). Throws an ApiError for everything else than a success. */
export async function call<T>(method: string, path: string, { query, body, signal }: Call = {}): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json' };
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
  if (!response.ok) throw await failureOf(response);
  const text = await response.text();
  const answer = text === '' ? 'null' : text;
  return JSON.parse(answer);
}

export const get = <T>(path: string, options?: Call): Promise<T> => call<T>('GET', path, options);
export const post = <T>(path: string, body?: unknown): Promise<T> => call<T>('POST', path, { body });
export const put = <T>(path: string, body?: unknown): Promise<T> => call<T>('PUT', path, { body });
export const patch = <T>(path: string, body?: unknown): Promise<T> => call<T>('PATCH', path, { body });
export const remove = (path: string): Promise<void> => call<void>('DELETE', path);

/** `?a=1&b=2` without what is absent or empty; an empty text where nothing is left. */
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
    const message = `The server answered ${status} with something that is not its own.`;
    return new ApiError({ status, code: 'no_problem', message, requestId });
  }
  const problem: Problem & Record<string, unknown> = await response.json();
  return new ApiError({ status, code: problem.code, message: problem.detail, requestId, problem });
}

/** The token that a script of ours alone can read (the session itself is out of reach of scripts). */
function csrfToken(): string | null {
  const found = document.cookie.match(/(?:^|; )(?:__Host-)?tidegate_csrf=([\w-]+)/);
  return found?.[1] ?? null;
}
