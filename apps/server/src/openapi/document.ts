import swagger from '@fastify/swagger';
import { PROBLEM_MEDIA_TYPE, Problem } from '@tidegate/protocol/problems';
import type { FastifySchema, RouteOptions } from 'fastify';
import type { Access, OperatorAccess } from '../platform/http/access.ts';
import type { App } from '../platform/http/server.ts';
import { NO_BODY } from '../platform/http/strict-routes.ts';
import { scopeNeeded } from '../platform/http/token-scopes.ts';

const AGENT = 'agentAccessToken';
const OPERATOR = 'operatorToken';
const COOKIE = 'operatorCookie';
const MACHINE = 'machineId';

const securitySchemes = {
  [AGENT]: { type: 'http', scheme: 'bearer', description: 'Access token of an agent (15 minutes).' },
  [MACHINE]: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Machine-ID',
    description: 'The machine that the agent is bound to.',
  },
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
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tidegate',
        version,
        description: 'Manages software updates across a fleet of hosts. Errors are RFC 9457 problem details.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: { securitySchemes },
    },
    transform: ({ schema, url, route }) => ({ schema: describe(schema, route), url }),
  });
}

function describe(schema: FastifySchema | undefined, route: RouteOptions): FastifySchema {
  const access = route.config?.access;
  if (!schema?.summary || !access) return { hide: true };
  const { body, ...rest } = schema;
  return {
    ...rest,
    ...(body === undefined || body === NO_BODY ? {} : { body }),
    description: describeAccess(access, String(route.method)),
    security: securityOf(access),
    response: { ...successOf(schema.response), default: refusalOf(route) },
  };
}

const problem = {
  description: 'Refused: problem details with the code of the refusal',
  content: { [PROBLEM_MEDIA_TYPE]: { schema: Problem } },
};

function refusalOf({ config }: RouteOptions) {
  const schema = config?.refusalForm?.schema;
  if (!schema) return problem;
  return { description: "Refused, in the protocol's own form", content: { 'application/json': { schema } } };
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
    case 'own':
      return [];
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
