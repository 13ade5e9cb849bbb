import type { MoveHostsAnswer } from '@tidegate/protocol/groups-api';
import { appendEvent } from '../events/append-event.ts';
import { chunks } from '../platform/db/chunks.ts';
import { type GroupScope, isInScope } from '../platform/db/group-scope.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { lockHosts, setGroup } from './group-store.ts';

/**
 * Puts hosts into a group, or into none, with an event for each that was in another. Who is bound to groups moves
 * hosts between those alone: into none they would be out of everybody's groups.
 */
export async function moveHosts(
  platform: Platform,
  {
    agentIds,
    group,
    by,
  }: { agentIds: readonly string[]; group: string | null; by: Pick<OperatorCaller, 'username' | 'groups'> },
): Promise<MoveHostsAnswer> {
  demandGroup(by.groups, group);
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    const answer: MoveHostsAnswer = { moved: [], not_found: [] };
    // In one order, so that two requests that name the same hosts wait for each other.
    for (const ids of chunks([...agentIds].sort())) {
      const hosts = await lockHosts(tx, { engine, ids, scope: by.groups });
      const found = new Set(hosts.map(({ id }) => id));
      answer.not_found.push(...ids.filter((id) => !found.has(id)));
      const moving = hosts.filter((host) => host.group !== group);
      if (moving.length === 0) continue;
      answer.moved.push(...moving.map(({ id }) => id));
      await setGroup(tx, { ids: moving.map(({ id }) => id), group });
      for (const { id, group: before } of moving) {
        await appendEvent(tx, platform, {
          kind: 'security',
          type: 'HOST_GROUP_CHANGED',
          severity: 'info',
          component: 'agents',
          agentId: id,
          actor: by.username,
          content: { before, after: group },
        });
      }
    }
    return answer;
  });
}

/** Refuses who is bound to groups a group that is none of them. */
export function demandGroup(scope: GroupScope, group: string | null): void {
  if (isInScope(scope, group)) return;
  throw new Refusal('forbidden', {
    detail: 'You are bound to groups of hosts, and this is none of them: name one of yours.',
  });
}
