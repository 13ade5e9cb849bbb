import type { CommandOutput } from '@tidegate/protocol/agent-api';
import type { Outcome } from '../platform/failures.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';
import type { OutputPiece } from './output-cursor-rules.ts';

/** Request timeout; then the piece is resent, and the server recognises its number. */
const ANSWER_MAX_MS = 10_000;

/** Sends one piece of a command's output; stdout and stderr are merged. */
export function sendOutput(
  agent: AgentSession,
  commandId: string,
  { seq, data }: OutputPiece,
): Promise<Outcome<unknown>> {
  const body: CommandOutput = { seq, stream: 'stdout', data };
  const path = `/commands/${commandId}/output`;
  return callAgent(agent, { method: 'POST', path, body, timeoutMs: ANSWER_MAX_MS });
}
