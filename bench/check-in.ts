import { type BenchAgent, IDLE_CHECK_IN } from './fleet.ts';
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
export function checkInRequest({ agentId, machineId, token }: BenchAgent): Buffer {
  const head = [
    `POST /api/v1/agents/${agentId}/check-in HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${token}`,
    `x-machine-id: ${machineId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(IDLE_CHECK_IN)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${IDLE_CHECK_IN}`);
}
