import { alternatingAddresses, type Observation } from '../agents/clone-rules.ts';

/** Agents whose addresses are kept; past it, the first to arrive are dropped first. */
export const AGENTS_MAX = 20_000;
/** Latest addresses kept for each agent. */
const RUNS_MAX = 3;

/** Addresses of check-ins, in memory: after a restart, a clone's next two check-ins restore them. */
export interface Addresses {
  /** For the plain check-in: true if this connection has the agent's last address, or none is known. */
  isUnchanged(agentId: string, socketAddress: string | undefined): boolean;
  /** For the route: records a check-in; returns evidence if two addresses alternate within one interval. */
  record(visit: {
    agentId: string;
    socketAddress: string | undefined;
    seen: Observation;
    intervalSeconds: number;
  }): readonly Observation[] | null;
}

interface Known {
  socketAddress: string | undefined;
  runs: Observation[];
}

export function createAddresses(agentsMax = AGENTS_MAX): Addresses {
  const known = new Map<string, Known>();

  function add(agentId: string, entry: Known): Known {
    if (known.size >= agentsMax) {
      for (const oldest of known.keys()) {
        known.delete(oldest);
        break;
      }
    }
    known.set(agentId, entry);
    return entry;
  }

  return {
    isUnchanged(agentId, socketAddress) {
      const entry = known.get(agentId);
      if (entry !== undefined) return entry.socketAddress === socketAddress;
      add(agentId, { socketAddress, runs: [] });
      return true;
    },
    record({ agentId, socketAddress, seen, intervalSeconds }) {
      const entry = known.get(agentId) ?? add(agentId, { socketAddress, runs: [] });
      entry.socketAddress = socketAddress;
      const last = entry.runs.at(-1);
      if (last?.address === seen.address) {
        entry.runs[entry.runs.length - 1] = seen;
        return null;
      }
      const evidence = alternatingAddresses(entry.runs, { now: seen, intervalSeconds });
      entry.runs = [...entry.runs, seen].slice(-RUNS_MAX);
      return evidence;
    },
  };
}
