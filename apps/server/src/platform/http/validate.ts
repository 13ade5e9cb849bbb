import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

/** Checks requests by their schemas exactly as they came: text in the path and the query stays text (wire.md). */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const compiled = Compile(schema);
  return (value: unknown) => (compiled.Check(value) ? { value } : { error: compiled.Errors(value) });
};
