import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { clientApi } from './client-api.ts';
import { clientRequests } from './client-requests.ts';
import { readOpenApi } from './read-openapi.ts';
import { createTypeWriter } from './write-types.ts';

const STREAMS = ['/api/v1/commands/{id}/output', '/api/v1/stream'];

test('packages/client/src/api.ts and requests.ts match the OpenAPI document', async () => {
  const written = (name: string) =>
    readFileSync(join(import.meta.dirname, '../packages/client/src', name), 'utf8');
  const document = await readOpenApi();
  expect(written('api.ts')).toBe(clientApi(document));
  expect(written('requests.ts')).toBe(clientRequests(document));
  // The client has no streams: a new one has no command, and is named here.
  const { paths } = Value.Parse(Type.Object({ paths: Type.Record(Type.String(), Type.Unknown()) }), document);
  const streams = Object.entries(paths).filter(([, methods]) =>
    /text\/event-stream/.test(JSON.stringify(methods)),
  );
  expect(streams.map(([path]) => path).toSorted()).toEqual(STREAMS);
});

test.each([
  [{ type: 'string', maxLength: 3 }, 'string'],
  [{ type: 'integer', minimum: 0 }, 'number'],
  [{ const: 'a' }, '"a"'],
  [{ type: 'string', enum: ['a', 'b'] }, '"a" | "b"'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }, { type: 'string' }] }, 'string | null'],
  [{ type: 'array', items: { enum: [1, 2] } }, '(1 | 2)[]'],
  [{ type: 'object', additionalProperties: { type: 'boolean' } }, '{ [name: string]: boolean }'],
  [{ type: 'object', properties: { a: {}, b: {} }, required: ['a'] }, '{ "a": unknown; "b"?: unknown }'],
  [{ type: 'object', properties: {} }, '{ [name: string]: unknown }'],
  [{ not: {} }, 'unknown'],
])('%j is %s', (schema, type) => {
  expect(createTypeWriter().write(schema, 'x')).toBe(type);
});

test('equal objects of several members get one name, others another', () => {
  const types = createTypeWriter();
  const host = (...names: string[]) => {
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    return { type: 'object', properties };
  };
  const written = [host('a', 'b', 'c'), host('a', 'b', 'c'), host('a', 'b', 'd')].map((one) =>
    types.write(one, 'host'),
  );
  expect(written).toEqual(['Host', 'Host', 'Host2']);
  expect(types.declarations()).toHaveLength(2);
});
