import type { AgentItem, AgentState } from '@tidegate/protocol/agents-api';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { cloneSuspected } from './clone-view.ts';
import type { AgentRow } from './store.ts';
import { tagsOfHosts } from './tag-store.ts';

/** Check-in interval unless an operator sets another one. */
export const CHECK_IN_INTERVAL_SECONDS = 60;
/** An agent is online while its last check-in is younger than this many of its intervals (docs/protocol/states.md). */
export const ONLINE_INTERVALS = 3;

function stateOf(agent: Pick<AgentRow, 'status' | 'machine_id'>): AgentState {
  if (agent.status === 'revoked') return 'revoked';
  return agent.machine_id === null ? 'unbound' : 'bound';
}

/** A revoked agent is offline at once: nothing that it sends counts. */
export function isOnline(
  agent: Pick<AgentRow, 'status' | 'last_seen_at' | 'polling_interval_seconds'>,
  nowMs: number,
): boolean {
  if (agent.status === 'revoked' || agent.last_seen_at === null) return false;
  const intervalSeconds = agent.polling_interval_seconds ?? CHECK_IN_INTERVAL_SECONDS;
  return nowMs - agent.last_seen_at < ONLINE_INTERVALS * intervalSeconds * 1_000;
}

/** Hosts as operators see them, in the given order. */
export async function agentItems(db: Db, agents: readonly AgentRow[], nowMs: number): Promise<AgentItem[]> {
  const tags = await tagsOfHosts(
    db,
    agents.map(({ id }) => id),
  );
  return agents.map((agent) => agentItem(agent, tags.get(agent.id) ?? [], nowMs));
}

export async function oneAgentItem(db: Db, agent: AgentRow, nowMs: number): Promise<AgentItem> {
  return agentItem(agent, (await tagsOfHosts(db, [agent.id])).get(agent.id) ?? [], nowMs);
}

function agentItem(agent: AgentRow, tags: readonly string[], nowMs: number): AgentItem {
  return {
    id: agent.id,
    hostname: agent.hostname,
    group: agent.group_name,
    tags: [...tags],
    status: stateOf(agent),
    online: isOnline(agent, nowMs),
    machine_id: agent.machine_id,
    os: {
      family: agent.os_family,
      id: agent.os_id,
      version_id: agent.os_version_id,
      arch: agent.os_arch,
    },
    agent_version: agent.agent_version,
    uptime_seconds: agent.uptime_seconds,
    key_set_version: agent.key_set_version,
    check_in_interval_seconds: agent.polling_interval_seconds ?? CHECK_IN_INTERVAL_SECONDS,
    enrolled_at: rfc3339(agent.enrolled_at),
    bound_at: time(agent.bound_at),
    last_seen_at: time(agent.last_seen_at),
    revoked_at: time(agent.revoked_at),
    clone_suspected: cloneSuspected(agent),
    restarts: { services: agent.services_restart ?? 'unknown', reboot: agent.reboot_need ?? 'unknown' },
    pending_updates: agent.pending_updates,
  };
}

function time(ms: number | null): string | null {
  return ms === null ? null : rfc3339(ms);
}
