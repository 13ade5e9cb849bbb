import type { CommandOutput } from '@tidegate/protocol/agent-api';
import type { Outcome } from '../platform/failures.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';
import type { OutputPiece } from './output-cursor-rules.ts';

/** Longest wait for one answer; after it the piece goes again, and the server knows it by its number. */
const ANSWER_MAX_MS = 10_000;

/** Sends one piece of what was said while a command was carried out; both streams are one story. */
export function sendOutput(
  agent: AgentSession,
  commandId: string,
  { seq, data }: OutputPiece,
): Promise<Outcome<unknown>> {
  const body: CommandOutput = { seq, stream: 'stdout', data };
  const path = `/commands/${commandId}/output`;
  return callAgent(agent, { method: 'POST', path, body, timeoutMs: ANSWER_MAX_MS });
}
