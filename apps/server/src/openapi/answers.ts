import { STATUS_CODES } from 'node:http';
import {
  RATE_LIMIT_HEADER,
  RATE_REMAINING_HEADER,
  RATE_RESET_HEADER,
  REQUEST_ID_HEADER,
} from '@tidegate/protocol/headers';
import { PROBLEM_MEDIA_TYPE, type ProblemCode } from '@tidegate/protocol/problems';
import type { RefusalForm } from '../platform/http/refusal.ts';
import { type AnsweringRoute, byStatus, refusalsOf } from '../platform/http/route-answers.ts';

/** Faults of HTTP itself, which are answered before a route is found; the status of the code is another one. */
const OF_HTTP: ReadonlyMap<number, string> = new Map([
  [408, 'The request did not arrive in time'],
  [431, 'The headers are too large'],
]);
/** What is answered before the route is asked, with problem details even where the route refuses in another form. */
const BEFORE_ROUTE: ReadonlySet<number> = new Set([400, 408, 413, 431]);

type Json = Readonly<Record<string, unknown>>;
interface Described {
  readonly name: string;
  readonly response: Json;
}

/** The headers of answers, for `components.headers`. */
export const HEADERS: Json = {
  RequestId: {
    description: 'The id of the request. Quote it when you report a fault.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  RetryAfter: {
    description: 'Seconds to wait before the request is repeated',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  Challenge: { description: 'How to authenticate', required: true, schema: { type: 'string' } },
  RateLimit: countHeader('Requests that the window allows'),
  RateRemaining: countHeader('Requests that are left in the window'),
  RateReset: countHeader('Seconds until the oldest request leaves the window'),
};

function countHeader(description: string) {
  return { description, schema: { type: 'integer', minimum: 0 } };
}

const headerRef = (name: keyof typeof HEADERS) => ({ $ref: `#/components/headers/${name}` });
const REQUEST_ID = { [REQUEST_ID_HEADER]: headerRef('RequestId') };
const BUDGET = {
  [RATE_LIMIT_HEADER]: headerRef('RateLimit'),
  [RATE_REMAINING_HEADER]: headerRef('RateRemaining'),
  [RATE_RESET_HEADER]: headerRef('RateReset'),
};

/** The headers of a success. */
export function headersOfSuccess({ access }: Pick<AnsweringRoute, 'access'>): Json {
  return { ...REQUEST_ID, ...(access.kind === 'own' ? BUDGET : {}) };
}

/** Every refusal of a route by its status, each with a name for `components.responses`: routes share them. */
export function refusedAnswers(route: AnsweringRoute, form: RefusalForm | undefined): Map<number, Described> {
  const answers = new Map<number, Described>();
  for (const [status, codes] of byStatus(refusalsOf(route)))
    answers.set(status, refusal(status, codes, form));
  for (const [status, what] of OF_HTTP)
    answers.set(status, refusal(status, ['invalid_request'], undefined, what));
  answers.set(500, refusal(500, ['internal_error'], form, 'The server met an unexpected condition'));
  return answers;
}

function refusal(
  status: number,
  codes: readonly (ProblemCode | 'internal_error')[],
  form: RefusalForm | undefined,
  description = STATUS_CODES[status] ?? 'Refused',
): Described {
  const sorted = [...codes].sort();
  const problem = { [PROBLEM_MEDIA_TYPE]: { schema: problemOf(status, sorted) } };
  const content = form && {
    'application/json': { schema: form.schema },
    ...(BEFORE_ROUTE.has(status) ? problem : {}),
  };
  return {
    name: [status, ...(form ? ['FleetLock'] : []), ...sorted].join('.'),
    response: {
      description: `${description}: ${sorted.map((code) => `\`${code}\``).join(', ')}`,
      headers: { ...REQUEST_ID, ...headersOf(status, codes) },
      content: content ?? problem,
    },
  };
}

function problemOf(status: number, codes: readonly string[]) {
  const properties = { status: { const: status }, code: { enum: codes } };
  return { allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties }] };
}

function headersOf(status: number, codes: readonly string[]): Json {
  if (status === 401) return { 'www-authenticate': headerRef('Challenge') };
  const retry = status === 429 || status === 503 ? { 'retry-after': headerRef('RetryAfter') } : {};
  return { ...retry, ...(codes.includes('rate_limited') ? BUDGET : {}) };
}
