import type { FastifyRequest } from 'fastify';
import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';

/** Every failed machine check leaves its event (section 6), committed before the refusal is sent, and a log line. */
export async function recordMismatch(
  platform: Platform,
  request: FastifyRequest,
  mismatch: { agentId: string; recorded: string | null; reported: string | null },
): Promise<void> {
  // The route's pattern, not the path that was sent: the event must not carry text of the caller's choice.
  const endpoint = `${request.method} ${request.routeOptions.url ?? ''}`;
  await platform.database.transact((tx) =>
    appendEvent(tx, platform, {
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
    }),
  );
  platform.log.machineMismatch({
    agent_id: mismatch.agentId,
    endpoint,
    address: request.ip,
    request_id: request.id,
  });
}
