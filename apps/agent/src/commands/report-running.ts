import type { CommandResult } from '@tidegate/protocol/agent-api';
import { type AgentSession, callAgent } from '../session/call-agent.ts';

/**
 * Shown in the console. Best effort: the result follows. An older server refuses `installing_at`, so no report that
 * matters may carry it.
 */
export async function reportRunning(
  agent: AgentSession,
  commandId: string,
  at: Pick<CommandResult, 'started_at'> | Pick<CommandResult, 'installing_at'>,
): Promise<void> {
  const body: CommandResult = { status: 'running', ...at };
  await callAgent(agent, { method: 'POST', path: `/commands/${commandId}/result`, body });
}
