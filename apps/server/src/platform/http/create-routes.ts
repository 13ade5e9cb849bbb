import type { ProblemCode } from '@tidegate/protocol/problems';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Access, AgentCaller, OperatorCaller } from './access.ts';
import { createCsvAnswers } from './answer-csv.ts';
import { type CsvList, csvList, prefersCsv } from './csv-rules.ts';
import { noSuch } from './refusal.ts';
import type { Context, NoCaller, OwnCredential, Route, RouteSchema, Routes } from './routes.ts';
import { strictSchema } from './strict-routes.ts';
import { createInputCheck, type InputCheck, type InputSchema } from './validate.ts';

const SUCCESSES = [200, 201, 202];
const NO_CONTENT = 204;

/** The routes of a server, or of one scope of it. */
export function createRoutes(app: FastifyInstance): Routes {
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());
  const answerCsv = createCsvAnswers({ stopping: stopping.signal });

  function mount<S extends InputSchema, C>(route: Mountable<S, C>, admission: Admission<C>): void {
    const { method, url, schema, bodyMaxBytes, rawBody, beforeBody, handler } = route;
    const { isAlwaysJson = false, refusalForm } = route;
    const { access, callerOf, status, refuses, csv = null } = admission;
    const strict = strictSchema(method, schema);
    const demandValid: InputCheck<S> = createInputCheck<S>(rawBody ? { ...strict, body: undefined } : strict);
    app.route({
      method,
      url,
      config: {
        access,
        ...(bodyMaxBytes !== undefined && { bodyMaxBytes }),
        ...(rawBody && { parseLater: true }),
        ...(isAlwaysJson && { isAlwaysJson }),
        ...(refusalForm && { refusalForm }),
        ...(csv && { csvColumns: csv.columns }),
        refuses,
      },
      schema: rawBody ? { ...strict, body: rawBody } : strict,
      // The handler below checks the input, so that its types follow from the check.
      validatorCompiler: () => () => true,
      ...(beforeBody && {
        onRequest: async (request: FastifyRequest) => beforeBody({ ...callerOf(request), request }),
      }),
      handler: (request, reply) => {
        const { params, body = null } = request;
        const answer = (query: unknown) => {
          const input = { params, body, query };
          demandValid(input);
          return handler({ ...callerOf(request), ...input, request, reply });
        };
        if (status !== null) reply.code(status);
        if (csv === null) return answer(request.query);
        reply.header('vary', 'accept');
        if (!prefersCsv(request.headers.accept)) return answer(request.query);
        return answerCsv({ ...csv, page: answer }, request, reply);
      },
    });
  }

  function mountApi<S extends RouteSchema, A, C>(
    route: Route<S, A, C>,
    admission: Pick<Admission<C>, 'access' | 'callerOf'>,
  ): void {
    const status = SUCCESSES.find((code) => route.schema.response?.[code] !== undefined) ?? NO_CONTENT;
    const csv = admission.access.kind === 'operator' ? csvList(route.schema) : null;
    mount(route, { ...admission, status, refuses: route.schema.refuses ?? [], csv });
  }

  return {
    public: (route) =>
      mountApi(route, { access: { ...route.access, kind: 'public' }, callerOf: publicCaller }),
    anyone: (route) =>
      mountApi(route, { access: { ...route.access, kind: 'anyone' }, callerOf: anyoneCaller }),
    own: (route) => mountApi(route, { access: { ...route.access, kind: 'own' }, callerOf: ownCaller }),
    agent: (route) =>
      mountApi(forItself(route), { access: { ...route.access, kind: 'agent' }, callerOf: agentCaller }),
    operator: (route) =>
      mountApi(route, { access: { ...route.access, kind: 'operator' }, callerOf: operatorCaller }),
    page: (route) =>
      mount(route, {
        ...{ access: { ...route.access, kind: 'public' }, callerOf: publicCaller },
        ...{ status: null, refuses: [] },
      }),
    stopping: stopping.signal,
  };
}

type Mountable<S, C> = Omit<Route<RouteSchema, unknown, C>, 'access' | 'schema' | 'handler'> & {
  readonly schema?: S;
  readonly handler: (context: Context<S, C>) => Promise<unknown>;
};

interface Admission<C> {
  readonly access: Access;
  readonly callerOf: (request: FastifyRequest) => C;
  /** Null: the handler sets it. */
  readonly status: number | null;
  readonly refuses: readonly ProblemCode[];
  /** The columns of a list, which is CSV for clients that ask for it. */
  readonly csv?: CsvList | null;
}

/** The route, with a handler that runs only for the agent that its path names. */
function forItself<S extends RouteSchema, A, Url extends string>(
  route: Route<S, A, { agent: AgentCaller }, Url>,
): Route<S, A, { agent: AgentCaller }, Url> {
  const { handler } = route;
  return {
    ...route,
    handler: (context) => {
      if (pathAgentIdOf(context.request) === context.agent.agentId) return handler(context);
      throw noSuch('agent');
    },
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

/** `{agent_id}` of the path; null where the path has none. */
export function pathAgentIdOf({ params }: Pick<FastifyRequest, 'params'>): string | null {
  if (typeof params !== 'object' || params === null || !('agent_id' in params)) return null;
  return typeof params.agent_id === 'string' ? params.agent_id : null;
}
