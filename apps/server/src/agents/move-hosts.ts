import type { MoveHostsAnswer } from '@tidegate/protocol/groups-api';
import { appendEvent } from '../events/append-event.ts';
import { chunks } from '../platform/db/chunks.ts';
import { type GroupScope, isInScope } from '../platform/db/group-scope.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { lockHosts, setGroup } from './group-store.ts';

/**
 * Moves hosts into a group, or into none, with an event for each that changes. A group-bound operator moves hosts only
 * between its own groups: without a group they would be out of everybody's scope.
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
    // Sorted, so that two requests with the same hosts queue instead of deadlocking.
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

/** Refuses a group-bound operator a group other than its own. */
export function demandGroup(scope: GroupScope, group: string | null): void {
  if (isInScope(scope, group)) return;
  throw new Refusal('forbidden', {
    detail: 'You are bound to groups of hosts, and this is not one of them: use one of yours.',
  });
}
