import type { AgentEvent } from '@tidegate/protocol/agent-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';

/** What is kept of an agent's text, in characters. */
const MESSAGE_MAX_CHARS = 1_000;
/** Larger details are left out, as JSON text in characters. */
const DETAILS_MAX_CHARS = 8_192;

/** Stores what an agent noticed by itself as security events; its text is bounded and never trusted. */
export async function recordAgentEvents(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, events }: { agentId: string; events: readonly AgentEvent[] },
): Promise<void> {
  for (const event of events) {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: event.type,
      severity: event.severity,
      component: 'agent',
      agentId,
      actor: 'agent',
      content: { message: event.message.slice(0, MESSAGE_MAX_CHARS), at: event.at, ...detailsOf(event) },
    });
  }
}

function detailsOf({ details }: AgentEvent): Record<string, unknown> {
  if (details === undefined) return {};
  return JSON.stringify(details).length > DETAILS_MAX_CHARS ? { details_dropped: true } : { details };
}
