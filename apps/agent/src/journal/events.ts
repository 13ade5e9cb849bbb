import type { AgentEvent } from '@tidegate/protocol/agent-api';
import type { AgentEventType, Severity } from '@tidegate/protocol/event-types';
import { timestamp } from '../platform/clock.ts';

const MESSAGE_MAX_CHARS = 4_096;

const SEVERITY: Record<AgentEventType, Severity> = {
  COMMAND_REFUSED: 'error',
  PLAN_DRIFT: 'warning',
  ARTIFACT_MISMATCH: 'error',
  CLONE_SUSPECTED: 'error',
  AGENT_ERROR: 'error',
};

/** Makes an event that the agent reports by itself. `details` never holds a token or key. */
export function agentEvent(
  type: AgentEventType,
  message: string,
  options: { nowMs: number; details?: Record<string, unknown> },
): AgentEvent {
  return {
    type,
    severity: SEVERITY[type],
    message: message.slice(0, MESSAGE_MAX_CHARS),
    at: timestamp(options.nowMs),
    ...(options.details === undefined ? {} : { details: options.details }),
  };
}
