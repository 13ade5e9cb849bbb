import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { BenchAgent } from './fleet.ts';
import { formRequest } from './form-request.ts';
import type { Turn } from './load.ts';
import { compareWithHello, type Figures } from './rounds.ts';
import type { BenchOptions } from './run.ts';

/**
 * Renewals (E1), each with a request id and the token from the one before, committed to disk before its answer.
 */
export function benchRenewals(options: BenchOptions): Promise<Record<string, Figures | { missing: string }>> {
  return compareWithHello(options, {
    what: 'renewal',
    requestsOf: ({ agents }) => renewalsOf(agents),
    firstOnce: false,
  });
}

const Answer = Compile(Type.Object({ refresh_token: Type.String() }));

/** The agents in turn, each with its newest token; an agent that waits for an answer is skipped. */
export function renewalsOf(agents: readonly BenchAgent[]): () => Turn | null {
  const idle = agents.map(({ machineId, refreshToken }) => ({ machineId, token: refreshToken }));
  return () => {
    const agent = idle.shift();
    if (!agent) return null;
    return {
      request: renewRequest({ ...agent, requestId: randomUUID() }),
      onAnswer(answer) {
        const body: unknown = JSON.parse(answer.toString('utf8', answer.indexOf('\r\n\r\n') + 4));
        // An answer without a new token ends the run as failed, because of its status.
        if (Answer.Check(body)) idle.push({ ...agent, token: body.refresh_token });
      },
    };
  };
}

export function renewRequest(one: { machineId: string; token: string; requestId: string }): Buffer {
  const { machineId, token, requestId } = one;
  const body = JSON.stringify({ refresh_token: token, request_id: requestId });
  return formRequest('POST', '/api/v1/agents/renew', { headers: { 'x-machine-id': machineId }, body });
}
