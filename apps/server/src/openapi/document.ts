import swagger from '@fastify/swagger';
import { Problem } from '@tidegate/protocol/problems';
import type { FastifySchema, RouteOptions } from 'fastify';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Access, OperatorAccess, OwnAccess } from '../platform/http/access.ts';
import { type Column, CSV_MEDIA_TYPE, CSV_ROWS_MAX } from '../platform/http/csv-rules.ts';
import type { App } from '../platform/http/server.ts';
import { NO_BODY } from '../platform/http/strict-routes.ts';
import { scopeNeeded } from '../platform/http/token-scopes.ts';
import { HEADERS, headersOfSuccess, refusedAnswers } from './answers.ts';

const AGENT = 'agentAccessToken';
const OPERATOR = 'operatorToken';
const COOKIE = 'operatorCookie';
const MACHINE = 'machineId';
const REGISTRATION = 'registrationToken';
const FLEET_LOCK = 'fleetLockToken';
const METRICS = 'metricsToken';

/** The refresh token is in the body. */
const OWN: Readonly<Record<OwnAccess['credential'], () => Record<string, string[]>>> = {
  'registration token': () => ({ [REGISTRATION]: [], [MACHINE]: [] }),
  'refresh token': () => ({ [MACHINE]: [] }),
  'token of FleetLock': () => ({ [FLEET_LOCK]: [] }),
  'token of metrics': () => ({ [METRICS]: [] }),
};

const securitySchemes = {
  [AGENT]: { type: 'http', scheme: 'bearer', description: 'Access token of an agent (15 minutes).' },
  [MACHINE]: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Machine-ID',
    description: 'The machine that the agent is bound to.',
  },
  [REGISTRATION]: { type: 'http', scheme: 'bearer', description: 'Registration token (`tgr_…`).' },
  [FLEET_LOCK]: { type: 'http', scheme: 'basic', description: 'Id and secret of a token of FleetLock.' },
  [METRICS]: { type: 'http', scheme: 'bearer', description: 'Value of SERVICE_METRICS_TOKEN.' },
  [OPERATOR]: {
    type: 'http',
    scheme: 'bearer',
    description: 'ADMIN_JWT of the login, or an API token (`tg_…`) if the route accepts one.',
  },
  [COOKIE]: {
    type: 'apiKey',
    in: 'cookie',
    name: 'tidegate_session',
    description:
      "The console's cookie (with the prefix __Host- over https); changes also need the header X-CSRF-Token.",
  },
} as const;

/**
 * Collects every route mounted later into an OpenAPI 3.1 document, `app.swagger()` once the app is ready. Await this
 * function before any route is mounted. Routes without a summary are pages and are left out.
 */
export async function installOpenApi(app: App, { version }: { version: string }): Promise<void> {
  const answering = new Map<string, RouteOptions>();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tidegate',
        version,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: { securitySchemes },
    },
    transform: ({ schema, url, route }) => {
      for (const method of [route.method].flat()) answering.set(keyOf(method, url), route);
      return { schema: describe(schema, route), url };
    },
    transformObject: (made) => {
      if (!('openapiObject' in made)) return made.swaggerObject;
      addAnswers(made.openapiObject, answering);
      return made.openapiObject;
    },
  });
}

const DESCRIPTION = [
  'Manages software updates across a fleet of hosts.',
  'Errors are RFC 9457 problem details; each operation lists the codes that it may answer.',
  'A path that the document does not name is 404, and a method that it does not name for a path is 405 with `Allow`.',
].join(' ');

function keyOf(method: string, url: string): string {
  return `${method.toLowerCase()} ${url.replace(/:(\w+)/g, '{$1}')}`;
}

function describe(schema: FastifySchema | undefined, route: RouteOptions): FastifySchema {
  const access = route.config?.access;
  if (!schema?.summary || !access) return { hide: true };
  const { body, ...rest } = schema;
  return {
    ...rest,
    ...(body === undefined || body === NO_BODY ? {} : { body: withNames(body) }),
    description: describeAccess(access, String(route.method)),
    security: securityOf(access),
    response: successOf(schema.response),
  };
}

const MadeBody = Type.Object({
  content: Type.Record(Type.String(), Type.Object({ schema: Type.Unknown() })),
  required: Type.Optional(Type.Boolean()),
});
const Success = Type.Object({ content: Type.Record(Type.String(), Type.Unknown()) });
/** The parts of the collected document that are changed. */
const Made = Type.Object({
  paths: Type.Record(
    Type.String(),
    Type.Record(
      Type.String(),
      Type.Object({
        responses: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
        requestBody: Type.Optional(MadeBody),
      }),
    ),
  ),
  components: Type.Record(Type.String(), Type.Unknown()),
});
const OrNull = Type.Object({ anyOf: Type.Array(Type.Unknown()) });
const NullForm = Type.Object({ type: Type.Literal('null') });

/** Adds to each operation what it refuses with, and whether it needs a body. */
function addAnswers(made: unknown, answering: ReadonlyMap<string, RouteOptions>): void {
  if (!Value.Check(Made, made)) throw new Error('the collected document has another form');
  const responses: Record<string, unknown> = {};
  for (const [path, operations] of Object.entries(made.paths)) {
    for (const [method, { responses: answers, requestBody }] of Object.entries(operations)) {
      const { config, method: methods = [] } = answering.get(`${method} ${path}`) ?? {};
      if (!config?.access) throw new Error(`no route answers ${method} ${path}`);
      const route = { access: config.access, method: methods, refuses: config.refuses ?? [] };
      for (const success of Object.values(answers)) success.headers = headersOfSuccess(route);
      if (config.csvColumns && answers[200]) addCsv(answers[200], config.csvColumns);
      for (const [status, { name, response }] of refusedAnswers(route, config.refusalForm)) {
        responses[name] = response;
        answers[status] = { $ref: `#/components/responses/${name}` };
      }
      if (requestBody) requestBody.required = !takesNull(requestBody);
    }
  }
  Object.assign(made.components, { schemas: { Problem }, responses, headers: HEADERS });
}

/** A list is CSV as well, for clients that ask for it. */
function addCsv(answer: Record<string, unknown>, columns: readonly Column[]): void {
  const names = columns.map((column) => `\`${column.join('.')}\``).join(', ');
  const description = `Every row from \`cursor\` on, at most ${CSV_ROWS_MAX}; with \`limit\` one page. Columns: ${names}`;
  const { content } = Value.Parse(Success, answer);
  answer.content = { ...content, [CSV_MEDIA_TYPE]: { schema: { type: 'string', description } } };
}

/** A body that may be null may also be absent. */
function takesNull({ content }: Static<typeof MadeBody>): boolean {
  return Object.values(content).some(
    ({ schema }) => Value.Check(OrNull, schema) && schema.anyOf.some((one) => Value.Check(NullForm, one)),
  );
}

const Named = Type.Object({ patternProperties: Type.Record(Type.String(), Type.Unknown()) });

/** The pattern of TypeBox for a record whose names are any text. */
const ANY_NAME = '^.*$';

/** The same schema with patterns of names as `propertyNames`: the plugin drops those of `patternProperties`. */
function withNames(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNames);
  if (schema === null || typeof schema !== 'object') return schema;
  const members = Object.entries(schema).map(([key, value]) => [key, withNames(value)]);
  const copy: Record<string, unknown> = Object.fromEntries(members);
  const [named, ...others] = Value.Check(Named, copy) ? Object.entries(copy.patternProperties) : [];
  if (named === undefined || named[0] === ANY_NAME) return copy;
  if (others.length > 0) throw new Error('a schema with two patterns of names cannot be written');
  const { patternProperties: _, ...rest } = copy;
  const [pattern, additionalProperties] = named;
  return { ...rest, propertyNames: { pattern }, additionalProperties };
}

/** Routes that answer without a body declare no response. */
function successOf(response: unknown): Readonly<Record<string, unknown>> {
  if (response !== null && typeof response === 'object' && Object.keys(response).length > 0) {
    return { ...response };
  }
  return { 204: { type: 'null', description: 'Done' } };
}

function securityOf(access: Access): Record<string, string[]>[] {
  switch (access.kind) {
    case 'public':
    case 'anyone':
      return [];
    case 'own':
      return [OWN[access.credential]()];
    case 'agent':
      return [{ [AGENT]: [], [MACHINE]: [] }];
    case 'operator':
      return [{ [OPERATOR]: [] }, { [COOKIE]: [] }];
  }
}

function describeAccess(access: Access, method: string): string {
  const limit = access.limit === null ? '' : ` Rate-limit class: \`${access.limit}\`.`;
  switch (access.kind) {
    case 'public':
    case 'anyone':
      return `Open to everybody.${limit}`;
    case 'own':
      return `Checks its own credential.${limit}`;
    case 'agent':
      return `For the agent itself.${limit}`;
    case 'operator':
      return `For operators with the role \`${access.role}\`.${tokensOf(access, method)}${stepUpOf(access)}${limit}`;
  }
}

function stepUpOf({ stepUp }: OperatorAccess): string {
  return stepUp ? ' Requires a fresh second factor from operators who have one.' : '';
}

function tokensOf(access: OperatorAccess, method: string): string {
  const scope = scopeNeeded(access, method);
  const fleet = access.reach === 'fleet' ? ' Refused to operators who are bound to groups of hosts.' : '';
  return `${scope === null ? ' No API token.' : ` API tokens: scope \`${scope}\`.`}${fleet}`;
}
