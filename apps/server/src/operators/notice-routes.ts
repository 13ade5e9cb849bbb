import { Notice, NoticesSeen } from '@tidegate/protocol/notices-api';
import { pageOf } from '../platform/http/lists.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { noticeView } from './notices/notices.ts';
import { listNotices, markNoticesSeen } from './notices/store.ts';
import { changesOwn, readsOwn } from './own-account.ts';

const URL = '/api/v1/auth/notices';
const tags = ['authentication'];

/** Notices about changes of the caller's own access. */
export function mountNotices(routes: Routes, { platform }: { platform: Platform }): void {
  const { database } = platform;
  routes.operator({
    method: 'GET',
    url: URL,
    access: readsOwn,
    schema: {
      tags,
      summary: 'What changed in your password, factors, sessions and API tokens: the newest 50',
      response: { 200: pageOf(Notice) },
    },
    handler: async ({ operator }) => {
      const items = (await listNotices(database.read, operator.operatorId)).map(noticeView);
      return { items, next_cursor: null, total: items.length };
    },
  });
  routes.operator({
    method: 'POST',
    url: `${URL}/seen`,
    access: changesOwn,
    schema: { tags, summary: 'Mark the notices up to this one as seen', body: NoticesSeen },
    handler: async ({ operator: { operatorId }, body }) => {
      const seen = { operatorId, untilId: body.until, nowMs: platform.now() };
      await database.transact((tx) => markNoticesSeen(tx, seen));
    },
  });
}
