import type { FastifyRequest } from 'fastify';
import { appendOutsiderEvent } from '../outsiders/charge.ts';
import type { Platform } from '../platform/platform.ts';

/**
 * Records every failed machine check as an event (section 6), committed before the refusal is sent, and logs it. Beyond
 * the daily budget events are only counted; the log line stays.
 */
export async function recordMismatch(
  platform: Platform,
  request: FastifyRequest,
  mismatch: { agentId: string; recorded: string | null; reported: string | null },
): Promise<void> {
  // The route's pattern, not the requested path: the event must not carry text chosen by the caller.
  const endpoint = `${request.method} ${request.routeOptions.url ?? ''}`;
  await platform.database.transact((tx) =>
    appendOutsiderEvent(tx, platform, {
      kind: 'machine_mismatches',
      subject: { agentId: mismatch.agentId },
      event: {
        kind: 'security',
        type: 'MACHINE_ID_MISMATCH',
        severity: 'warning',
        component: 'agents',
        agentId: mismatch.agentId,
        actor: 'agent',
        content: {
          endpoint,
          recorded_machine_id: mismatch.recorded,
          reported_machine_id: mismatch.reported,
        },
      },
    }),
  );
  platform.log.machineMismatch({
    agent_id: mismatch.agentId,
    endpoint,
    address: request.ip,
    request_id: request.id,
  });
}
