import type { FastifyRequest } from 'fastify';
import type { AgentCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { agentOf } from '../platform/http/server.ts';

/** The calling agent, which may act only for itself: another agent's path does not exist for it. */
export function ownAgent(request: FastifyRequest, agentId: string): AgentCaller {
  const caller = agentOf(request);
  if (caller.agentId === agentId) return caller;
  throw new Refusal('not_found', { detail: 'There is no such agent.' });
}
