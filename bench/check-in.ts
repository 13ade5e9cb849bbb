import { type BenchAgent, BOOT_ID, DIGEST } from './fleet.ts';
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

function checkInRequest({ agentId, machineId, token }: BenchAgent): Buffer {
  const body = JSON.stringify({
    agent_version: '1.0.0',
    boot_id: BOOT_ID,
    uptime_seconds: 86_400,
    load: [0.1, 0.2, 0.3],
    received: [],
    key_set_version: 1,
    inventory_digest: { apt: DIGEST },
  });
  const head = [
    `POST /api/v1/agents/${agentId}/check-in HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${token}`,
    `x-machine-id: ${machineId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
