import type { ReportedTags } from '@tidegate/protocol/tags-api';
import { appendOutsiderEvent } from '../outsiders/charge.ts';
import type { Platform } from '../platform/platform.ts';
import { lockAgent } from './store.ts';
import { tagsFault } from './tag-rules.ts';
import { reportedTags, saveReportedTags } from './tag-store.ts';

/**
 * Stores what a host says of itself. Only lists and filters read it. Beyond the daily budget of its events nothing
 * changes: what is shown and what the log says stay the same.
 */
export async function reportTags(
  platform: Platform,
  { agentId, tags }: { agentId: string; tags: ReportedTags['tags'] },
): Promise<{ ok: true } | { ok: false; message: string }> {
  const message = tagsFault(tags);
  if (message !== null) return { ok: false, message };
  const after = tags.toSorted();
  await platform.database.transact(async (tx) => {
    if (!(await lockAgent(tx, agentId))) return;
    const before = (await reportedTags(tx, [agentId])).get(agentId) ?? [];
    if (after.join() === before.toSorted().join()) return;
    const isWritten = await appendOutsiderEvent(tx, platform, {
      ...{ kind: 'agent_events', subject: { agentId } },
      event: {
        ...{ kind: 'security', type: 'HOST_TAGS_CHANGED', severity: 'info', component: 'agents' },
        ...{ agentId, actor: 'agent', content: { before, after } },
      },
    });
    if (isWritten) await saveReportedTags(tx, { agentId, tags: after });
  });
  return { ok: true };
}
