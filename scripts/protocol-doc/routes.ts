import { isMembers, type Members, type SchemaNames, typeOf } from './schema-rows.ts';

/** The operations with this OpenAPI tag: method, path, rate-limit class, body and answers of each. */
export function agentRoutes(openapi: object, names: SchemaNames): string[][] {
  return operationsOf(openapi)
    .filter(({ operation }) => Array.isArray(operation.tags) && operation.tags.includes('agents'))
    .map(({ method, path, operation }) => [
      method.toUpperCase(),
      path,
      classOf(operation.description),
      bodyOf(operation, names),
      answersOf(operation, names),
    ])
    .sort((a, b) => (a.join() < b.join() ? -1 : 1));
}

/** Paths whose operations need the access token of an agent. */
export function pathsOfAgents(openapi: object): string[] {
  return operationsOf(openapi)
    .filter(({ operation }) => JSON.stringify(operation.security ?? []).includes('agentAccessToken'))
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    .sort();
}

function operationsOf(openapi: object): { method: string; path: string; operation: Members }[] {
  const paths = 'paths' in openapi && isMembers(openapi.paths) ? openapi.paths : {};
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(isMembers(methods) ? methods : {}).flatMap(([method, operation]) =>
      isMembers(operation) ? [{ method, path, operation }] : [],
    ),
  );
}

function classOf(description: unknown): string {
  return /Rate-limit class: `(\w+)`/.exec(String(description))?.[1] ?? '';
}

function bodyOf({ requestBody }: Members, names: SchemaNames): string {
  const schema = schemaOf(requestBody);
  return schema === null ? '' : typeOf(schema, names);
}

/** Only successes: each route may also answer with the problems of errors.md. */
function answersOf({ responses }: Members, names: SchemaNames): string {
  return Object.entries(isMembers(responses) ? responses : {})
    .filter(([status]) => status.startsWith('2'))
    .map(([status, answer]) => {
      const schema = schemaOf(answer);
      return schema === null ? status : `${status} ${typeOf(schema, names)}`;
    })
    .join(', ');
}

function schemaOf(holder: unknown): unknown {
  const content = isMembers(holder) ? holder.content : null;
  const json = isMembers(content) ? content['application/json'] : null;
  return isMembers(json) ? json.schema : null;
}
