import { Notice, NoticesSeen } from '@tidegate/protocol/notices-api';
import { pageOf } from '../platform/http/lists.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { noticeView } from './notices/notices.ts';
import { listNotices, markNoticesSeen } from './notices/store.ts';

const URL = '/api/v1/auth/notices';
const tags = ['authentication'];
const reads = {
  kind: 'operator',
  role: 'viewer',
  limit: 'admin_reads',
  reach: 'none',
  scope: null,
  toEnrol: true,
} as const;
const acts = { ...reads, limit: 'admin_operations' } as const;

/** What changed in one's own access, and what of it was seen. */
export function mountNotices(app: App, { platform }: { platform: Platform }): void {
  const { database } = platform;
  app.route({
    method: 'GET',
    url: URL,
    config: { access: reads },
    schema: {
      tags,
      summary: 'What changed in your password, factors, sessions and API tokens: the newest 50',
      response: { 200: pageOf(Notice) },
    },
    handler: async (request) => {
      const items = (await listNotices(database.read, operatorOf(request).operatorId)).map(noticeView);
      return { items, next_cursor: null, total: items.length };
    },
  });
  app.route({
    method: 'POST',
    url: `${URL}/seen`,
    config: { access: acts },
    schema: { tags, summary: 'Mark the notices up to this one as seen', body: NoticesSeen },
    handler: async (request, reply) => {
      const { operatorId } = operatorOf(request);
      const seen = { operatorId, untilId: request.body.until, nowMs: platform.now() };
      await database.transact((tx) => markNoticesSeen(tx, seen));
      return reply.code(204).send();
    },
  });
}
