import type { FastifySchemaCompiler } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { accepts, firstFault } from './first-fault.ts';
import { type FieldFault, Refusal } from './refusal.ts';

/** The schemas of the parts of a request. */
export interface InputSchema {
  readonly params?: TSchema | undefined;
  readonly body?: TSchema | undefined;
  readonly querystring?: TSchema | undefined;
}

export interface UncheckedInput {
  readonly params: unknown;
  readonly body: unknown;
  readonly query: unknown;
}

/** The parts of a request, typed by their schemas; `unknown` where there is none. */
export interface Input<S> {
  readonly params: PartOf<S, 'params'>;
  readonly body: PartOf<S, 'body'>;
  readonly query: PartOf<S, 'querystring'>;
}

type PartOf<S, Part extends keyof InputSchema> = S extends { readonly [P in Part]: infer T extends TSchema }
  ? Static<T>
  : unknown;

export type InputCheck<S> = (input: UncheckedInput) => asserts input is UncheckedInput & Input<S>;

/**
 * Checks requests exactly as they came: text in the path and the query stays text (docs/protocol/requests.md). The
 * check throws the Refusal `invalid_request` with the first fault: of the params, then of the body, then of the query.
 */
export function createInputCheck<S>(schema: InputSchema): InputCheck<S> {
  const faultIn = {
    params: createPartCheck('params', schema.params),
    body: createPartCheck('body', schema.body),
    query: createPartCheck('querystring', schema.querystring),
  };
  return function demandValid(input): asserts input is UncheckedInput & Input<S> {
    const fault = faultIn.params(input.params) ?? faultIn.body(input.body) ?? faultIn.query(input.query);
    if (fault !== null) throw fault;
  };
}

/** The same check for routes that `Routes` does not make. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const faultIn = createPartCheck(httpPart, schema);
  return (value: unknown) => {
    const error = faultIn(value);
    return error === null ? { value } : { error };
  };
};

function createPartCheck(part: string, schema: TSchema | undefined): (value: unknown) => Refusal | null {
  if (schema === undefined) return () => null;
  return (value) => (accepts(schema, value) ? null : refusalOf(part, firstFault(schema, value)));
}

function refusalOf(part: string, fault: FieldFault): Refusal {
  const path = part === 'body' ? fault.path : `${part}${fault.path}`;
  return new Refusal('invalid_request', {
    detail: `The ${part} is not valid.`,
    errors: [{ ...fault, path }],
  });
}
