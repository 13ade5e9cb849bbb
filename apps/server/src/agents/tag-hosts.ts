import { HOST_TAGS_MAX, type TagHostsAnswer, type TagHostsRequest } from '@tidegate/protocol/tags-api';
import { appendEvent } from '../events/append-event.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { notValid, Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { lockHosts } from './group-store.ts';
import { changedTags, tagsFault } from './tag-rules.ts';
import { changeTags, hostsWithKeys, operatorTags } from './tag-store.ts';

/**
 * Sets and removes tags of hosts in the caller's groups, with an event for each host that changes. All or none: a host
 * that would have too many refuses the request.
 */
export async function tagHosts(
  platform: Platform,
  {
    request,
    by,
    isDry = false,
  }: {
    request: TagHostsRequest;
    by: Pick<OperatorCaller, 'username' | 'groups'>;
    isDry?: boolean;
  },
): Promise<TagHostsAnswer> {
  const { set, remove } = request;
  const message = set.length + remove.length === 0 ? 'must set or remove a tag' : tagsFault(set, remove);
  if (message !== null) {
    throw notValid([{ path: '/set', message }]);
  }
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    const answer: TagHostsAnswer = { changed: [], not_found: [] };
    // Sorted, so that two requests with the same hosts queue instead of deadlocking.
    for (const ids of chunks([...request.agent_ids].sort())) {
      const hosts = await lockHosts(tx, { engine, ids, scope: by.groups });
      const found = new Set(hosts.map(({ id }) => id));
      answer.not_found.push(...ids.filter((id) => !found.has(id)));
      const tags = await operatorTags(tx, [...found]);
      const removing = await hostsWithKeys(tx, { ids: [...found], keys: remove });
      for (const id of found) {
        const before = tags.get(id) ?? [];
        const after = changedTags(before, { set, remove });
        if (after === null) {
          throw new Refusal('conflict', {
            detail: `A host has at most ${HOST_TAGS_MAX} tags, and ${id} would have more.`,
          });
        }
        if (after.join() === before.join() && !removing.has(id)) continue;
        answer.changed.push(id);
        if (isDry) continue;
        await changeTags(tx, { agentId: id, set, remove, by: by.username, atMs: platform.now() });
        await appendEvent(tx, platform, {
          ...{ kind: 'security', type: 'HOST_TAGS_CHANGED', severity: 'info', component: 'agents' },
          ...{ agentId: id, actor: by.username, content: { before, after } },
        });
      }
    }
    return answer;
  });
}
