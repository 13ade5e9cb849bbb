import type { FastifyRequest } from 'fastify';
import type { Db } from '../platform/db/engine.ts';
import { type Hosted, reaches } from '../platform/db/group-scope.ts';
import type { OperatorAccess, OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';

/** Same words as the routes use: a row outside of the caller's groups looks like one that does not exist. */
const UNKNOWN: Readonly<Record<Hosted, string>> = {
  agent: 'There is no such agent.',
  update: 'There is no such update.',
  command: 'There is no such command.',
  event: 'There is no such event.',
  decision: 'There is no such decision.',
};

/** Refuses a group-bound caller any row outside of its groups, before the handler runs. */
export async function demandReach(
  db: Db,
  {
    request,
    access,
    groups,
  }: {
    request: Pick<FastifyRequest, 'params'>;
    access: OperatorAccess;
    groups: OperatorCaller['groups'];
  },
): Promise<void> {
  const { reach } = access;
  if (groups === null || reach === 'none' || reach === 'scope') return;
  if (reach === 'fleet') {
    throw new Refusal('forbidden', {
      detail: 'This concerns the whole fleet, and you are bound to groups of hosts.',
    });
  }
  const id = parameterOf(request.params, reach.by);
  if (!(await reaches(db, { of: reach.of, id, groups }))) {
    throw new Refusal('not_found', { detail: UNKNOWN[reach.of] });
  }
}

function parameterOf(params: unknown, name: string): string {
  const named = new Map<string, unknown>(
    params !== null && typeof params === 'object' ? Object.entries(params) : [],
  );
  const value = named.get(name);
  if (typeof value !== 'string') throw new Error(`the route's path has no parameter ${name}`);
  return value;
}
