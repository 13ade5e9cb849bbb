import type { CheckInRequest } from '@tidegate/protocol/agent-api';
import type { AgentCaller, AgentFacts } from '../platform/http/access.ts';

/** Whether neither the bound agent nor the server has news: the check-in writes nothing. */
export function isIdle(caller: Pick<AgentCaller, 'bound'> & AgentFacts, facts: CheckInRequest): boolean {
  return caller.bound && !caller.hasOpenCommands && isUnchanged(caller, facts);
}

/** Whether the agent's facts are the stored ones, and it acknowledges no command. */
export function isUnchanged(stored: AgentFacts, facts: CheckInRequest): boolean {
  return (
    facts.received.length === 0 &&
    stored.bootId === facts.boot_id &&
    stored.agentVersion === facts.agent_version &&
    stored.keySetVersion === facts.key_set_version
  );
}
