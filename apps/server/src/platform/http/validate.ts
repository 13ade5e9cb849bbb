import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { firstFault } from './first-fault.ts';
import { Refusal } from './refusal.ts';

/**
 * Checks requests by their schemas exactly as they came: text in the path and the query stays text
 * (docs/protocol/requests.md).
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const compiled = Compile(schema);
  return (value: unknown) =>
    compiled.Check(value) ? { value } : { error: faultOf(schema, value, httpPart) };
};

function faultOf(schema: TSchema, value: unknown, httpPart: string): Refusal {
  const fault = firstFault(schema, value);
  const path = httpPart === 'body' ? fault.path : `${httpPart}${fault.path}`;
  return new Refusal('invalid_request', {
    detail: `The ${httpPart} is not valid.`,
    errors: [{ ...fault, path }],
  });
}
