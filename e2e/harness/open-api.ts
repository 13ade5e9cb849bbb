import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

const Parameter = Type.Object({
  name: Type.String(),
  in: Type.Enum(['path', 'query', 'header', 'cookie']),
  schema: Type.Unknown(),
});
const Operation = Type.Object({
  security: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
  parameters: Type.Optional(Type.Array(Parameter)),
  requestBody: Type.Optional(
    Type.Object({ content: Type.Record(Type.String(), Type.Object({ schema: Type.Unknown() })) }),
  ),
});
const Document = Type.Object({ paths: Type.Record(Type.String(), Type.Record(Type.String(), Operation)) });

/** One method of one path as the server describes it. */
export type Endpoint = {
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly caller: 'operator' | 'agent' | 'nobody';
  readonly parameters: readonly Static<typeof Parameter>[];
  /** The JSON schema of its body; null if it takes none. */
  readonly body: unknown;
};

/** The endpoints of an OpenAPI document. Throws if it is not one. */
export function endpointsOf(document: unknown): Endpoint[] {
  const { paths } = Value.Parse(Document, document);
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      caller: callerOf(operation),
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json']?.schema ?? null,
    })),
  );
}

function callerOf({ security = [] }: Static<typeof Operation>): Endpoint['caller'] {
  const names = security.flatMap((scheme) => Object.keys(scheme));
  if (names.includes('agentAccessToken')) return 'agent';
  return names.includes('operatorToken') ? 'operator' : 'nobody';
}

const Schema = Type.Object({
  type: Type.Optional(Type.String()),
  const: Type.Optional(Type.Unknown()),
  enum: Type.Optional(Type.Array(Type.Unknown())),
  anyOf: Type.Optional(Type.Array(Type.Unknown())),
  properties: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  patternProperties: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  items: Type.Optional(Type.Unknown()),
  pattern: Type.Optional(Type.String()),
  minimum: Type.Optional(Type.Number()),
  minLength: Type.Optional(Type.Number()),
});

/** Texts that match the patterns of the wire; the first match is used. */
const TEXTS = [
  'sample-text',
  '1',
  '01900000-0000-7000-8000-000000000001',
  '2030-01-01T00:00:00Z',
  '2030-01-01',
  '03:00',
  'a'.repeat(64),
  'a'.repeat(128),
  `${'A'.repeat(86)}==`, // 64 bytes in base64
  '000000',
  'true',
  'env=prod',
  'host.env=prod',
  'sample.service',
  'https://example.org',
];

/** A valid value of a schema, with every optional member. */
export function sampleOf(given: unknown): unknown {
  const schema = Value.Parse(Schema, given);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sampleOf(schema.anyOf[0]);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, member]) => [name, sampleOf(member)]),
      );
    case 'array':
      return schema.items === undefined ? [] : [sampleOf(schema.items)];
    case 'string':
      return sampleText(schema);
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return 'sample-text';
  }
}

function sampleText({ pattern = '', minLength = 0 }: Static<typeof Schema>): string {
  const fits = TEXTS.find((text) => text.length >= minLength && new RegExp(pattern).test(text));
  if (fits === undefined) throw new Error(`no sample for ${pattern}`);
  return fits;
}

/** The path of a text in a value, `0` for list items. `isFree`: without a pattern or list of allowed values. */
export type TextPlace = { readonly place: readonly string[]; readonly isFree: boolean };

/** The places of texts in a value of a schema. */
export function textPlacesOf(given: unknown): TextPlace[] {
  const schema = Value.Parse(Schema, given);
  if (schema.anyOf !== undefined) return textPlacesOf(schema.anyOf[0]);
  if (schema.type === 'string' || schema.enum !== undefined) {
    return [{ place: [], isFree: schema.pattern === undefined && schema.enum === undefined }];
  }
  if (schema.type === 'array' && schema.items !== undefined) return below('0', schema.items);
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => below(name, member));
}

function below(name: string, schema: unknown): TextPlace[] {
  return textPlacesOf(schema).map(({ place, isFree }) => ({ place: [name, ...place], isFree }));
}

/** A copy of a value with another text in one place. */
export function withText(value: unknown, place: readonly string[], text: string): unknown {
  const [name, ...rest] = place;
  if (name === undefined) return text;
  if (Array.isArray(value)) return value.map((item: unknown) => withText(item, rest, text));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]: [string, unknown]) => [
      key,
      key === name ? withText(member, rest, text) : member,
    ]),
  );
}
