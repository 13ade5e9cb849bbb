import type { AgentItem, AgentState } from '@tidegate/protocol/agents-api';
import { type HeldBack, NOTHING_HELD } from '@tidegate/protocol/holds-api';
import { rfc3339 } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { cloneSuspected } from './clone-view.ts';
import type { AgentRow } from './store.ts';
import { tagsOfHosts } from './tag-store.ts';

/** What an item takes: holds stand later in the flow than hosts, so what they keep back comes from outside. */
export interface ItemDeps {
  platform: Pick<Platform, 'database' | 'now'>;
  /** What holds keep back of the updates of hosts; those without any are left out. */
  heldOf(hosts: readonly { id: string; group: string | null }[]): Promise<ReadonlyMap<string, HeldBack>>;
}

/** Check-in interval unless an operator sets another one. */
export const CHECK_IN_INTERVAL_SECONDS = 60;
/** An agent is online while its last check-in is younger than this many of its intervals (docs/protocol/states.md). */
export const ONLINE_INTERVALS = 3;

function stateOf(agent: Pick<AgentRow, 'status' | 'machine_id'>): AgentState {
  if (agent.status === 'revoked') return 'revoked';
  return agent.machine_id === null ? 'unbound' : 'bound';
}

/** How long a host may say nothing before it counts as silent, in milliseconds. */
export function patienceOf(agent: Pick<AgentRow, 'polling_interval_seconds'>): number {
  return ONLINE_INTERVALS * (agent.polling_interval_seconds ?? CHECK_IN_INTERVAL_SECONDS) * 1_000;
}

/** A revoked agent is offline at once: nothing that it sends counts. */
export function isOnline(
  agent: Pick<AgentRow, 'status' | 'last_seen_at' | 'polling_interval_seconds'>,
  nowMs: number,
): boolean {
  if (agent.status === 'revoked' || agent.last_seen_at === null) return false;
  return nowMs - agent.last_seen_at < patienceOf(agent);
}

/** Hosts as operators see them, in the given order. */
export async function agentItems(
  { platform, heldOf }: ItemDeps,
  agents: readonly AgentRow[],
): Promise<AgentItem[]> {
  const tags = await tagsOfHosts(
    platform.database.read,
    agents.map(({ id }) => id),
  );
  const held = await heldOf(agents.map(({ id, group_name: group }) => ({ id, group })));
  const nowMs = platform.now();
  return agents.map((agent) =>
    agentItem(agent, { tags: tags.get(agent.id) ?? [], held: held.get(agent.id) ?? NOTHING_HELD, nowMs }),
  );
}

export async function oneAgentItem(deps: ItemDeps, agent: AgentRow): Promise<AgentItem> {
  const [item] = await agentItems(deps, [agent]);
  if (!item) throw new Error('a host without an item');
  return item;
}

function agentItem(
  agent: AgentRow,
  { tags, held, nowMs }: { tags: readonly string[]; held: HeldBack; nowMs: number },
): AgentItem {
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
    held_updates: held,
  };
}

function time(ms: number | null): string | null {
  return ms === null ? null : rfc3339(ms);
}
