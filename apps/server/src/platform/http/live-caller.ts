import type { FastifyRequest } from 'fastify';
import type { OperatorCaller } from './access.ts';

/** The caller, where a live session says who it is. */
export type Identify = (request: FastifyRequest) => Promise<OperatorCaller | null>;

/** Whether the session of an answer that stays open is still live, with the same rights. */
export async function isStillLive(
  identify: Identify,
  request: FastifyRequest,
  before: OperatorCaller,
): Promise<boolean> {
  const after = await identify(request);
  return (
    after !== null &&
    after.operatorId === before.operatorId &&
    after.role === before.role &&
    JSON.stringify(after.groups) === JSON.stringify(before.groups)
  );
}
