import type { AgentDirectory } from '../agent-credentials/renew-tokens.ts';
import { rfc3339 } from '../platform/clock.ts';
import { bindMachine } from './bind-machine.ts';
import { bootsOf } from './clone-store.ts';
import { lockBinding, lockFreeBindings, markAgentRevoked } from './store.ts';

/** What renewal needs of the agents slice. */
export const agentDirectory: AgentDirectory = {
  lockBinding,
  lockFreeBindings,
  bindMachine,
  markAgentRevoked,
  async lastSeen(tx, agentId) {
    const [last] = (await bootsOf(tx, agentId)).toSorted((a, b) => b.atMs - a.atMs);
    return last ? { at: rfc3339(last.atMs), boot_id: last.bootId, address: last.address } : null;
  },
};
