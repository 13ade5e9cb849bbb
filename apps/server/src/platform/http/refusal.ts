import { PROBLEM_STATUS, type ProblemCode } from '@tidegate/protocol/problems';
import type { TSchema } from 'typebox';

export interface FieldFault {
  path: string;
  message: string;
}

export interface RefusalMembers {
  detail: string;
  errors?: readonly FieldFault[];
  /** Seconds; sent as Retry-After. */
  retryAfterSeconds?: number;
  headers?: Readonly<Record<string, string>>;
  /** Further members of the problem, as docs/protocol/errors.md lists them for the code. */
  extra?: Readonly<Record<string, unknown>>;
}

/** How a route refuses whose protocol has a form of its own, in place of problem details. */
export interface RefusalForm {
  readonly schema: TSchema;
  readonly bodyOf: (refusal: { code: ProblemCode | 'internal_error'; members: RefusalMembers }) => unknown;
}

/** The one exception that crosses HTTP: an expected refusal, which the error mapper turns into problem+json. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly code: ProblemCode;
  readonly members: RefusalMembers;
  constructor(code: ProblemCode, members: RefusalMembers) {
    super(members.detail);
    this.code = code;
    this.members = members;
  }
  get status(): number {
    return PROBLEM_STATUS[this.code];
  }
}

/** The Refusal of an id that names nothing: "There is no such view." */
export function noSuch(what: string): Refusal {
  return new Refusal('not_found', { detail: `There is no such ${what}.` });
}

/** The Refusal of a request of the right form in which something is wrong: what, by its path. */
export function notValid(
  errors: readonly FieldFault[],
  what: 'body' | 'querystring' | 'result' | 'plan' = 'body',
): Refusal {
  return new Refusal('invalid_request', { detail: `The ${what} is not valid.`, errors });
}
