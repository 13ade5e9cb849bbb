import type { AgentDirectory } from '../agent-credentials/renew-tokens.ts';
import { bindMachine } from './bind-machine.ts';
import { lockBinding, markAgentRevoked } from './store.ts';

/** What renewal asks of the agents. */
export const agentDirectory: AgentDirectory = { lockBinding, bindMachine, markAgentRevoked };
