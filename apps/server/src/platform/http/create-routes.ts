import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Access, AgentCaller, OperatorCaller } from './access.ts';
import { Refusal } from './refusal.ts';
import type { NoCaller, OwnCredential, Route, RouteSchema, Routes } from './routes.ts';
import { strictSchema } from './strict-routes.ts';
import { createInputCheck, type InputCheck } from './validate.ts';

const SUCCESSES = [200, 201, 202];
const NO_CONTENT = 204;

/** The routes of a server, or of one scope of it. */
export function createRoutes(app: FastifyInstance): Routes {
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());

  function mount<S extends RouteSchema, C>(
    route: Route<S, unknown, C>,
    access: Access,
    callerOf: (request: FastifyRequest) => C,
  ): void {
    const { method, url, bodyMaxBytes, rawBody, beforeBody, schema, handler } = route;
    const strict = strictSchema(method, schema);
    const demandValid: InputCheck<S> = createInputCheck<S>(rawBody ? { ...strict, body: undefined } : strict);
    const status = SUCCESSES.find((code) => schema.response?.[code] !== undefined) ?? NO_CONTENT;
    app.route({
      method,
      url,
      config: {
        access,
        ...(bodyMaxBytes !== undefined && { bodyMaxBytes }),
        ...(rawBody && { parseLater: true }),
      },
      schema: rawBody ? { ...strict, body: rawBody } : strict,
      // The handler below checks the input, so that its types follow from the check.
      validatorCompiler: () => () => true,
      ...(beforeBody && {
        onRequest: async (request: FastifyRequest) => beforeBody({ ...callerOf(request), request }),
      }),
      handler: (request, reply) => {
        const { params, body = null, query } = request;
        const input = { params, body, query };
        demandValid(input);
        reply.code(status);
        return handler({ ...callerOf(request), ...input, request, reply });
      },
    });
  }

  return {
    public: (route) => mount(route, { ...route.access, kind: 'public' }, publicCaller),
    anyone: (route) => mount(route, { ...route.access, kind: 'anyone' }, anyoneCaller),
    own: (route) => mount(route, { ...route.access, kind: 'own' }, ownCaller),
    agent: (route) => {
      const { handler } = route;
      const forItself: typeof handler = (context) => {
        demandOwnPath(context);
        return handler(context);
      };
      mount({ ...route, handler: forItself }, { ...route.access, kind: 'agent' }, agentCaller);
    },
    operator: (route) => mount(route, { ...route.access, kind: 'operator' }, operatorCaller),
    page: ({ access, ...route }) =>
      app.route({ ...route, config: { access: { ...access, kind: 'public' } } }),
    stopping: stopping.signal,
  };
}

function publicCaller({ caller }: FastifyRequest): NoCaller {
  if (caller?.kind !== 'public') throw notAdmitted();
  return {};
}

function anyoneCaller({ caller }: FastifyRequest): { operator: OperatorCaller | null } {
  if (caller?.kind !== 'anyone') throw notAdmitted();
  return { operator: caller.operator };
}

function ownCaller({ caller }: FastifyRequest): { credential: OwnCredential } {
  if (caller?.kind !== 'own') throw notAdmitted();
  return {
    credential: {
      markGenuine: () => {
        caller.isGenuine = true;
      },
    },
  };
}

function agentCaller({ caller }: FastifyRequest): { agent: AgentCaller } {
  if (caller?.kind !== 'agent') throw notAdmitted();
  return { agent: caller.agent };
}

function operatorCaller({ caller }: FastifyRequest): { operator: OperatorCaller } {
  if (caller?.kind !== 'operator') throw notAdmitted();
  return { operator: caller.operator };
}

/** Default deny: a route that no guard has admitted answers 500, whatever hooks it is behind. */
function notAdmitted(): Error {
  return new Error('no guard has admitted this request');
}

function demandOwnPath({ agent, request }: { agent: AgentCaller; request: FastifyRequest }): void {
  if (pathAgentIdOf(request) === agent.agentId) return;
  throw new Refusal('not_found', { detail: 'There is no such agent.' });
}

/** `{agent_id}` of the path; null where the path has none. */
export function pathAgentIdOf({ params }: Pick<FastifyRequest, 'params'>): string | null {
  if (typeof params !== 'object' || params === null || !('agent_id' in params)) return null;
  return typeof params.agent_id === 'string' ? params.agent_id : null;
}
