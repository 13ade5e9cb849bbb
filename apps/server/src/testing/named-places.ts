import { Type } from 'typebox';
import { Value } from 'typebox/value';

/** Where a request names a row: in its path, its query or its body, by the path of the member (`decisions[].id`). */
export interface Place {
  route: string;
  method: Method;
  /** As in the server's routes: `/api/v1/agents/:agent_id`. */
  pattern: string;
  at: 'path' | 'query' | 'body';
  name: string;
}

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

const Document = Type.Object({
  paths: Type.Record(
    Type.String(),
    Type.Record(
      Type.String(),
      Type.Object({
        parameters: Type.Optional(
          Type.Array(Type.Object({ in: Type.String(), name: Type.String(), schema: Type.Unknown() })),
        ),
        requestBody: Type.Optional(
          Type.Object({
            content: Type.Record(Type.String(), Type.Object({ schema: Type.Unknown() })),
          }),
        ),
      }),
    ),
  ),
});
const Shape = Type.Object({
  type: Type.Optional(Type.String()),
  pattern: Type.Optional(Type.String()),
  anyOf: Type.Optional(Type.Array(Type.Unknown())),
  oneOf: Type.Optional(Type.Array(Type.Unknown())),
  allOf: Type.Optional(Type.Array(Type.Unknown())),
  items: Type.Optional(Type.Unknown()),
  properties: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

const UUID_PATTERN = /^\^\[0-9a-f\]\{8\}-/;
const NAMING = /(^|_)(id|ids|group|groups)$/;

/**
 * Every place of the routes' document in which a caller may name a row: each path parameter, and each member
 * of a query or a body that takes a UUID or is called an id or a group.
 */
export function placesOf(document: unknown): Place[] {
  const places: Place[] = [];
  for (const [path, operations] of Object.entries(Value.Parse(Document, document).paths)) {
    const pattern = path.replace(/\{(\w+)\}/g, ':$1');
    for (const [name, { parameters = [], requestBody }] of Object.entries(operations)) {
      const method = methodOf(name);
      const route = { route: `${method} ${pattern}`, method, pattern };
      for (const parameter of parameters) {
        if (parameter.in === 'path') places.push({ ...route, at: 'path', name: parameter.name });
        if (parameter.in !== 'query') continue;
        for (const one of namesIn(parameter.schema, parameter.name))
          places.push({ ...route, at: 'query', name: one });
      }
      const bodies = Object.values(requestBody?.content ?? {});
      const named = new Set(bodies.flatMap(({ schema }) => namesIn(schema, '')));
      for (const one of named) places.push({ ...route, at: 'body', name: one });
    }
  }
  return places;
}

/** Paths of the members that name rows; for a list its items (`update_ids[]`). */
function namesIn(schema: unknown, path: string): string[] {
  if (!Value.Check(Shape, schema)) return [];
  const { type, pattern = '', anyOf = [], oneOf = [], allOf = [], items, properties = {} } = schema;
  const inner = [
    ...[...anyOf, ...oneOf, ...allOf].flatMap((one) => namesIn(one, path)),
    ...(items === undefined ? [] : namesIn(items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([name, one]) =>
      namesIn(one, path === '' ? name : `${path}.${name}`),
    ),
  ];
  const isNamed = NAMING.test(path.replaceAll('[]', '').split('.').at(-1) ?? '');
  const isLeaf = items === undefined && inner.length === 0 && type !== 'null';
  return [...new Set(isLeaf && (UUID_PATTERN.test(pattern) || isNamed) ? [path] : inner)];
}

export function methodOf(name: string): Method {
  const method = METHODS.find((one) => one === name.toUpperCase());
  if (!method) throw new Error(`a method that this test does not know: ${name}`);
  return method;
}
