import { type Api, CODES, SUCCESSES } from './api.ts';
import type { Failure, OperationName, Outcome, ProblemDetails } from './outcome.ts';

/** An answer as it came. */
export interface Received {
  readonly status: number;
  /** Without parameters; empty without one. */
  readonly mediaType: string;
  readonly text: string;
}

/**
 * Reads an answer: of a success the status, the media type and the members at the top are compared with the document,
 * of a refusal its whole form. Never throws.
 */
export function readAnswer<K extends OperationName>(operation: K, received: Received): Outcome<K> {
  const { status, mediaType, text } = received;
  const parsed = parse(text);
  if (status >= 400) return readRefusal(operation, { status, mediaType, parsed });
  const members = SUCCESSES[operation][status];
  if (members === undefined) return stranger(status, 'the status is not one of the operation');
  const body = members === null ? null : parsed;
  const isJson = mediaType === 'application/json' && parsed !== undefined;
  if (members !== null && !isJson) return stranger(status, 'the answer is not JSON');
  if (!isAnswer(operation, body, members))
    return stranger(status, 'the answer lacks members of the operation');
  return { ok: true, status, body };
}

function readRefusal<K extends OperationName>(
  operation: K,
  { status, mediaType, parsed }: { status: number; mediaType: string; parsed: unknown },
): Failure<K> {
  if (mediaType !== 'application/problem+json' || !isProblem(parsed) || parsed.status !== status) {
    return stranger(status, 'the refusal is no problem of Tidegate');
  }
  const { code } = parsed;
  if (!isCodeOf(operation, code)) return { ok: false, fault: { kind: 'refused_otherwise', problem: parsed } };
  return { ok: false, fault: { kind: 'refused', code, problem: parsed } };
}

function stranger(status: number, detail: string): Failure<never> {
  return { ok: false, fault: { kind: 'not_tidegate', status, detail } };
}

function isAnswer<K extends OperationName>(
  _operation: K,
  body: unknown,
  members: readonly string[] | null,
): body is Api[K]['answer'] {
  if (members === null) return body === null;
  if (members.length === 0) return true;
  return isObject(body) && members.every((name) => Object.hasOwn(body, name));
}

function isCodeOf<K extends OperationName>(operation: K, code: string): code is Api[K]['code'] & string {
  return CODES[operation].includes(code);
}

function isProblem(value: unknown): value is ProblemDetails {
  if (!isObject(value)) return false;
  const { status, code, detail, request_id: requestId, errors = [] } = value;
  const texts = [code, detail, requestId];
  return (
    typeof status === 'number' && texts.every((text) => typeof text === 'string') && isListOfFaults(errors)
  );
}

function isListOfFaults(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (one: unknown) => isObject(one) && typeof one.path === 'string' && typeof one.message === 'string',
    )
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Undefined for text that is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
