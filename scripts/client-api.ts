import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { GENERATED_HEAD, JSON_TYPE, Media, type Operation, operationsOf, Ref } from './client-operations.ts';
import { createTypeWriter } from './write-types.ts';

const Coded = Type.Object({
  allOf: Type.Tuple([
    Type.Unknown(),
    Type.Object({
      properties: Type.Object({ code: Type.Object({ enum: Type.Array(Type.String()) }) }),
    }),
  ]),
});
const Document = Type.Object({
  components: Type.Object({
    responses: Type.Record(Type.String(), Type.Object({ content: Media })),
  }),
});
const WithMembers = Type.Object({ required: Type.Array(Type.String()) });

const PROBLEM_TYPE = 'application/problem+json';

/** The types of every operation that operators may call, and what the client checks of its answers. */
export function clientApi(document: unknown): string {
  const { components } = Value.Parse(Document, document);
  const types = createTypeWriter();
  const operations = operationsOf(document);

  function codesOf({ responses }: Operation): string[] {
    const codes = Object.values(responses).flatMap((answer) => {
      if (!Value.Check(Ref, answer)) return [];
      const named = components.responses[answer.$ref.replace('#/components/responses/', '')];
      const schema = named?.content[PROBLEM_TYPE]?.schema;
      return Value.Check(Coded, schema) ? schema.allOf[1].properties.code.enum : [];
    });
    return [...new Set(codes)].sort();
  }

  const members = operations.map(({ name, operation }) => {
    const body = operation.requestBody;
    const lines = [
      parametersOf(operation, 'path', types.write),
      parametersOf(operation, 'query', types.write),
      body && `body${body.required ? '' : '?'}: ${types.write(schemaOf(body.content), 'Body')};`,
      `answer: ${answersOf(operation)
        .map((schema) => (schema === null ? 'null' : types.write(schema, 'Answer')))
        .join(' | ')};`,
      `code: ${literals(codesOf(operation))};`,
    ].filter((line) => line !== undefined);
    return `  /** ${operation.summary} */\n  ${JSON.stringify(name)}: {\n    ${lines.join('\n    ')}\n  };`;
  });
  const checks = operations.map(({ name, operation }) => `  ${JSON.stringify(name)}: ${checkOf(operation)},`);
  return [
    GENERATED_HEAD,
    ...types.declarations(),
    `export interface Api {\n${members.join('\n')}\n}\n`,
    '/** The members that each success has, by status; null: it has no body. */',
    'export const SUCCESSES: Readonly<Record<keyof Api, Readonly<Record<number, readonly string[] | null>>>> = {',
    ...checks,
    '};\n',
    '/** The codes that each operation refuses with. */',
    'export const CODES: Readonly<Record<keyof Api, readonly string[]>> = {',
    ...operations.map(
      ({ name, operation }) => `  ${JSON.stringify(name)}: ${JSON.stringify(codesOf(operation))},`,
    ),
    '};\n',
  ].join('\n');
}

function parametersOf(
  { parameters = [] }: Operation,
  place: 'path' | 'query',
  write: (schema: unknown, name: string) => string,
): string | undefined {
  const found = parameters.filter((one) => one.in === place);
  if (found.length === 0) return undefined;
  const isNeeded = found.some(({ required }) => required === true);
  const types = found.map(
    ({ name, schema, required }) =>
      `${JSON.stringify(name)}${required === true ? '' : '?'}: ${write(schema, name)}`,
  );
  return `${place}${isNeeded ? '' : '?'}: { ${types.join('; ')} };`;
}

function successesOf({ responses }: Operation) {
  return Object.entries(responses).flatMap(([status, answer]) =>
    '$ref' in answer ? [] : [{ status, schema: answer.content ? schemaOf(answer.content) : null }],
  );
}

function answersOf(operation: Operation): unknown[] {
  return successesOf(operation).map(({ schema }) => schema);
}

function checkOf(operation: Operation): string {
  const checks = successesOf(operation).map(({ status, schema }) => {
    if (schema === null) return `${status}: null`;
    return `${status}: ${JSON.stringify(Value.Check(WithMembers, schema) ? schema.required : [])}`;
  });
  return `{ ${checks.join(', ')} }`;
}

function schemaOf(content: Static<typeof Media>): unknown {
  return content[JSON_TYPE]?.schema ?? {};
}

function literals(values: readonly string[]): string {
  return values.length === 0 ? 'never' : values.map((value) => JSON.stringify(value)).join(' | ');
}
