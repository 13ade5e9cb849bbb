import { PROBLEM_STATUS, type ProblemCode } from '@tidegate/protocol/problems';
import type { Access, AgentAccess, OperatorAccess } from './access.ts';
import type { Column } from './csv-rules.ts';
import { readsBody } from './strict-routes.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the handler refuses with, beside what every route of its kind does. */
    refuses?: readonly ProblemCode[];
    /** The columns of a list as CSV. */
    csvColumns?: readonly Column[];
  }
}

/** What decides with which codes a route may refuse. */
export interface AnsweringRoute {
  readonly access: Access;
  readonly method: string | readonly string[];
  readonly refuses: readonly ProblemCode[];
}

/** Every code that a route may refuse with: by its guard, by the form of the request, and those that it declares. */
export function refusalsOf({ access, method, refuses }: AnsweringRoute): ReadonlySet<ProblemCode> {
  // Headers and the length of the address are checked on every route.
  const ofForm: ProblemCode[] = ['invalid_request'];
  if (readsBody(method)) ofForm.push('payload_too_large', 'unsupported_media_type');
  return new Set([...ofForm, ...refusalsOfGuard(access), ...refuses]);
}

/** The codes by their status, statuses in rising order. */
export function byStatus(codes: Iterable<ProblemCode>): ReadonlyMap<number, readonly ProblemCode[]> {
  const statuses = Map.groupBy(codes, (code) => PROBLEM_STATUS[code]);
  return new Map([...statuses].sort(([a], [b]) => a - b));
}

function refusalsOfGuard(access: Access): readonly ProblemCode[] {
  switch (access.kind) {
    case 'public':
      return access.limit === null ? [] : ['rate_limited'];
    case 'anyone':
    case 'own':
      // They read the database, which may be unreachable.
      return ['rate_limited', 'unavailable'];
    case 'agent':
      return [...TOKEN_REFUSALS, ...refusalsOfAgents(access)];
    case 'operator':
      return [...TOKEN_REFUSALS, ...refusalsOfOperators(access)];
  }
}

const TOKEN_REFUSALS: readonly ProblemCode[] = [
  ...(['unauthenticated', 'access_token_invalid', 'access_token_expired'] as const),
  ...(['rate_limited', 'unavailable'] as const),
];

function refusalsOfAgents({ bind, old }: AgentAccess): readonly ProblemCode[] {
  return [
    // Another machine, and the path of another agent.
    ...(['unauthorized', 'not_found'] as const),
    ...(bind ? [] : (['binding_pending'] as const)),
    ...(old ? [] : (['agent_too_old'] as const)),
  ];
}

function refusalsOfOperators({ reach, stepUp, toEnrol }: OperatorAccess): readonly ProblemCode[] {
  return [
    // The role, the scope of an API token, the groups, or a change by cookie from another site.
    'forbidden',
    ...(toEnrol ? [] : (['second_factor_missing', 'step_up_required'] as const)),
    ...(stepUp ? (['step_up_required'] as const) : []),
    ...(typeof reach === 'object' ? (['not_found'] as const) : []),
  ];
}
