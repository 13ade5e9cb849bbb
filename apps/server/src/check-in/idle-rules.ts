import type { CheckInRequest } from '@tidegate/protocol/agent-api';
import type { AgentCaller, AgentFacts } from '../platform/http/access.ts';

/** Whether a bound agent has no news, and there is none for it: a check-in that writes nothing. */
export function isIdle(caller: Pick<AgentCaller, 'bound'> & AgentFacts, facts: CheckInRequest): boolean {
  return caller.bound && !caller.hasOpenCommands && isUnchanged(caller, facts);
}

/** Whether what the agent says of itself is what is stored, and it has received no command. */
export function isUnchanged(stored: AgentFacts, facts: CheckInRequest): boolean {
  return (
    facts.received.length === 0 &&
    stored.bootId === facts.boot_id &&
    stored.agentVersion === facts.agent_version &&
    stored.keySetVersion === facts.key_set_version
  );
}
