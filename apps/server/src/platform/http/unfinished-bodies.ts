import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { BODY_BUFFER_BYTES, REQUEST_TIMES } from './http-limits.ts';
import type { AgentId } from './identities.ts';
import { Refusal } from './refusal.ts';
import { hasBody } from './unread-body.ts';

/** Larger bodies of one host on their way at once, at most. Agents send one after the other; lost connections leave some behind. */
export const UNFINISHED_OF_HOST_MAX = 4;
/** By then each of them has come, or its time is over. */
const RETRY_SECONDS = REQUEST_TIMES.wholeMs / 1_000;

/**
 * Counts the larger bodies of each host that are still to come. Each holds one of the connections between a worker and the
 * server, which all hosts share; a small body holds none, because the worker reads it before.
 */
export interface UnfinishedBodies {
  /** Counts the body until it has come whole, is answered without, or its client is gone. Throws a Refusal when the host has too many. */
  add(agentId: AgentId, exchange: { request: IncomingMessage; response: ServerResponse }): void;
}

export function createUnfinishedBodies(): UnfinishedBodies {
  const counts = new Map<AgentId, number>();
  return {
    add(agentId, { request, response }) {
      const { headers } = request;
      if (!hasBody(headers) || Number(headers['content-length']) <= BODY_BUFFER_BYTES) return;
      const count = counts.get(agentId) ?? 0;
      if (count >= UNFINISHED_OF_HOST_MAX) {
        throw new Refusal('unavailable', {
          detail: `${count} bodies of this host are still to come; retry after the time in Retry-After.`,
          retryAfterSeconds: RETRY_SECONDS,
        });
      }
      counts.set(agentId, count + 1);
      let isOver = false;
      const end = () => {
        if (isOver) return;
        isOver = true;
        const left = (counts.get(agentId) ?? 1) - 1;
        if (left === 0) counts.delete(agentId);
        else counts.set(agentId, left);
      };
      finished(request, { writable: false }, end);
      finished(response, end);
    },
  };
}
