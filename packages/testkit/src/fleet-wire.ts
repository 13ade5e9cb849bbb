import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import type { SimulatedAgent } from './fleet-agent.ts';
import type { FleetClient, FleetRequest } from './fleet-client.ts';
import type { Tally } from './fleet-tally.ts';

/** Where the agent's part of the wire begins. */
export const AGENTS_PATH = '/api/v1/agents';

/** Says whether an answer has the shape that the protocol promises. */
export type Guard<T> = { Check(value: unknown): value is T };

/** A guard for answers whose content does not matter. */
export const ANYTHING: Guard<unknown> = { Check: (value): value is unknown => value !== null };

export type Call<T> = { operation: string; expected: number; guard: Guard<T>; request: FleetRequest };
export type Caller = <T>(call: Call<T>) => Promise<T | null>;

/** Makes the function that sends a request, counts what came of it, and returns a good answer or else null. */
export function createCaller(client: FleetClient, tally: Tally): Caller {
  return async ({ operation, expected, guard, request }) => {
    const reply = await client.send(request);
    tally.count(operation, reply, expected);
    if (reply.status !== expected) return null;
    if (guard.Check(reply.body)) return reply.body;
    tally.fault(operation, 'an answer of the wrong shape');
    return null;
  };
}

type Parts = { method: 'POST' | 'PUT'; path: string; body: object };

/**
 * A request in the agent's own name, below its own path. Null for an agent that is not enrolled: its failed
 * enrolment was counted, and it has nothing to say with.
 */
export function requestAsAgent(agent: SimulatedAgent, { path, ...parts }: Parts): FleetRequest | null {
  if (agent.session === null) return null;
  const { agentId, accessToken } = agent.session;
  return requestWith(agent, { ...parts, path: `${AGENTS_PATH}/${agentId}${path}`, bearer: accessToken });
}

/** A request from the agent's machine with the credential that is given, or with none. */
export function requestWith(agent: SimulatedAgent, parts: Parts & { bearer?: string }): FleetRequest {
  const { method, path, bearer, body } = parts;
  const headers = { 'content-type': 'application/json', [MACHINE_ID_HEADER]: agent.machineId };
  const credential = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  return { method, path, headers: { ...headers, ...credential }, body: JSON.stringify(body) };
}
