import type { Api } from './api.ts';

/** `GET /api/v1/agents` and the like: a method and a path of the OpenAPI document. */
export type OperationName = keyof Api;

/** The answer to a call. Refusals are values; nothing is thrown for them. */
export type Outcome<K extends OperationName> = Success<K> | Failure<K>;

export interface Success<K extends OperationName> {
  readonly ok: true;
  readonly status: number;
  readonly body: Api[K]['answer'];
}

export interface Failure<K extends OperationName> {
  readonly ok: false;
  readonly fault: Fault<K>;
}

/** Why there is no answer: compare `kind` first, then `code`. */
export type Fault<K extends OperationName> =
  /** The server refused, with a code that the document lists for the operation. */
  | { readonly kind: 'refused'; readonly code: Api[K]['code']; readonly problem: ProblemDetails }
  /** The server refused with a code that this client does not know for the operation: it is of another version. */
  | { readonly kind: 'refused_otherwise'; readonly problem: ProblemDetails }
  /** The whole call took longer than its time, waits included. */
  | { readonly kind: 'timeout'; readonly detail: string }
  /** No connection, a certificate that is not trusted, or a connection that broke. */
  | { readonly kind: 'unreachable'; readonly detail: string }
  /** What answered is no Tidegate server, or a proxy in front of one. */
  | { readonly kind: 'not_tidegate'; readonly status: number; readonly detail: string };

/** RFC 9457, as in docs/protocol/errors.md; further members depend on the code. */
export interface ProblemDetails {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly request_id: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  readonly [member: string]: unknown;
}
