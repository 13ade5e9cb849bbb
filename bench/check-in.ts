import { type BenchAgent, IDLE_CHECK_IN } from './fleet.ts';
import { agentRequest } from './form-request.ts';
import { compareWithHello, type Figures } from './rounds.ts';
import type { BenchOptions } from './run.ts';

/** Idle check-ins, each agent in turn. Every token is verified and every query prepared once before it is measured. */
export function benchCheckIn(options: BenchOptions): Promise<Record<string, Figures | { missing: string }>> {
  return compareWithHello(options, {
    what: 'check-in',
    requestsOf: ({ agents }) => agents.map(checkInRequest),
    firstOnce: true,
  });
}

/** A complete idle check-in of this agent. */
export function checkInRequest(agent: BenchAgent): Buffer {
  return agentRequest(agent, CHECK_IN);
}

/** The same on a connection that ends with the answer. */
export function closingCheckInRequest(agent: BenchAgent): Buffer {
  return agentRequest(agent, { ...CHECK_IN, close: true });
}

const CHECK_IN = { method: 'POST', path: '/check-in', body: IDLE_CHECK_IN } as const;
