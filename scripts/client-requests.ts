import { calledBy, GENERATED_HEAD, operationsOf } from './client-operations.ts';

/** Schemas shorter than this are written where they are used. */
const NAMED_FROM_CHARS = 80;

/** What every operation that operators may call takes, as JSON Schema: for programs that check a request before they send it. */
export function clientRequests(document: unknown): string {
  const operations = operationsOf(document);
  const shapes = operations.map(({ name, operation }) => {
    const { parameters = [], requestBody, summary } = operation;
    const of = (place: string) =>
      Object.fromEntries(
        parameters
          .filter((one) => one.in === place)
          .map(({ name: key, schema, description }) => [key, described(schema, description)]),
      );
    const needs = parameters.filter((one) => one.in === 'query' && one.required).map((one) => one.name);
    const body = requestBody?.content['application/json']?.schema ?? null;
    return {
      name,
      shape: { summary, ...calledBy(operation), path: of('path'), query: of('query'), needs, body },
    };
  });
  const { declared, write } = createSchemaWriter(shapes.map(({ shape }) => shape));
  const members = shapes.map(({ name, shape }) => `  ${JSON.stringify(name)}: ${write(shape)},`);
  return [
    GENERATED_HEAD,
    "import type { Api } from './api.ts';",
    "import type { RequestShape, Schema } from './request-shape.ts';\n",
    ...declared,
    '\nexport const REQUESTS: Readonly<Record<keyof Api, RequestShape>> = {',
    ...members,
    '};\n',
  ].join('\n');
}

function described(schema: unknown, description: string | undefined): unknown {
  return description === undefined || typeof schema !== 'object' ? schema : { ...schema, description };
}

/** Writes shapes, with one constant for each schema that occurs more than once; `declared` grows as they are met. */
function createSchemaWriter(shapes: readonly object[]) {
  const counts = new Map<string, number>();
  const count = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    if (isSchema(value)) counts.set(JSON.stringify(value), (counts.get(JSON.stringify(value)) ?? 0) + 1);
    for (const each of Object.values(value)) count(each);
  };
  for (const shape of shapes) count(shape);
  const names = new Map<string, string>();
  const declared: string[] = [];

  function write(value: unknown): string {
    if (value === null || typeof value !== 'object') return JSON.stringify(value);
    const text = JSON.stringify(value);
    if (text.length < NAMED_FROM_CHARS || (counts.get(text) ?? 0) < 2) return literal(value);
    return names.get(text) ?? declare(text, literal(value));
  }

  function declare(text: string, written: string): string {
    const name = `S${names.size + 1}`;
    names.set(text, name);
    declared.push(`const ${name}: Schema = ${written};`);
    return name;
  }

  function literal(value: object): string {
    if (Array.isArray(value)) return `[${value.map(write).join(', ')}]`;
    const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${write(each)}`);
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
  }

  return { declared, write };
}

function isSchema(value: object): boolean {
  if ('type' in value && typeof value.type === 'string') return true;
  return ('anyOf' in value && Array.isArray(value.anyOf)) || ('enum' in value && Array.isArray(value.enum));
}
