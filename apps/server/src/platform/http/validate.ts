import type { FastifySchemaCompiler } from 'fastify';
import type { FastifySchemaValidationError } from 'fastify/types/schema.js';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { isStorable } from './lists.ts';

/** Checks requests by their schemas exactly as they came: text in the path and the query stays text (wire.md). */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compiled = Compile(schema);
  const check = (value: unknown) => (compiled.Check(value) ? { value } : { error: compiled.Errors(value) });
  if (httpPart !== 'querystring') return check;
  return (value: unknown) => {
    const fault = unstorableParameter(value);
    return fault ? { error: [fault] } : check(value);
  };
};

/** U+0000 in a filter would be an error of PostgreSQL, which holds it in no text; bodies refuse it as they are read. */
function unstorableParameter(value: unknown): FastifySchemaValidationError | null {
  for (const [name, text] of Object.entries(value ?? {})) {
    if (typeof text === 'string' && !isStorable(text)) {
      const message = 'must not hold U+0000';
      return { keyword: 'storable', instancePath: `/${name}`, schemaPath: '', params: {}, message };
    }
  }
  return null;
}
