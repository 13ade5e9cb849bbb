import { REPORTED_PREFIX } from '@tidegate/protocol/tags-api';
import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';

/** The tags of the configuration, until the server has them. */
export interface TagReport {
  /** With the prefix of what hosts report; null: nothing is to be sent. */
  unsent(): readonly string[] | null;
  sent(): void;
}

/** `tags` as the configuration has them, without the prefix; absent: the server keeps what it knows. */
export function openTagReport(tags: readonly string[] | undefined): TagReport {
  let left = tags?.map((tag) => `${REPORTED_PREFIX}${tag}`) ?? null;
  return {
    unsent: () => left,
    sent: () => {
      left = null;
    },
  };
}

/** Reports the tags once after a start: the configuration is read only then. Null when nothing is left to send. */
export async function sendTags(parts: AgentSession & { tags: TagReport; log: Log }): Promise<Failure | null> {
  const { tags, log } = parts;
  const report = tags.unsent();
  if (report === null) return null;
  const answer = await callAgent(parts, { method: 'PUT', path: '/tags', body: { tags: report } });
  if (!answer.ok && answer.failure.kind !== 'rejected') return answer.failure;
  tags.sent(); // a report that was refused would be refused again
  if (answer.ok) log.info('tags reported', { tags: report.length });
  else log.warn('the server refused the tags of the configuration', { tags: report.length });
  return null;
}
