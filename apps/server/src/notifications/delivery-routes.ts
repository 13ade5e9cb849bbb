import {
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  NoticeSet,
  ResendRequest,
  Resent,
} from '@tidegate/protocol/notifications-api';
import { strict } from '@tidegate/protocol/scalars';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import {
  attemptsOf,
  countDeliveries,
  findDelivery,
  listDeliveries,
  listedDelivery,
  reviveDeliveries,
} from './delivery-store.ts';
import { readNoticeSet } from './notice-set.ts';
import { deliveryDetail, deliveryView } from './views.ts';

const URL = '/api/v1/notifications/deliveries';
const tags = ['notifications'];
const read: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'fleet', scope: 'admin' };

/** What was sent, what waits and what could not be delivered; and the sets that links in notices open. */
export function mountDeliveries(routes: Routes, platform: Platform): void {
  const { database } = platform;

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Deliveries of notifications, newest first',
      tags,
      querystring: strict({ ...PageQuery, ...DeliveryFilter }),
      response: { 200: pageOf(Delivery) },
    },
    handler: async ({ query }) => {
      const { limit, after: before } = askedPage(query);
      const { state, kind, channel_id, rule_id } = query;
      const selection = { state, kind, channel_id, rule_id };
      const rows = await listDeliveries(database.read, { selection, limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const total = await countDeliveries(database.read, selection);
      return { items: page.map(deliveryView), next_cursor, total };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One delivery with its text and its attempts',
      tags,
      params: IdPath,
      response: { 200: DeliveryDetail },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await listedDelivery(database.read, params.id);
      if (!row) throw noSuch('delivery');
      return deliveryDetail(row, await attemptsOf(database.read, row.id));
    },
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/resend`, access: { ...read, limit: 'admin_operations' } },
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      summary:
        'Send dead letters again, with the ids that they had. What was delivered, or waits, is left as it is',
      tags,
      body: ResendRequest,
      response: { 200: Resent },
    },
    handler: async ({ body }) => {
      const which = 'ids' in body ? { ids: body.ids } : { channelId: body.channel_id };
      const nowMs = platform.now();
      return { resent: await database.transact((tx) => reviveDeliveries(tx, which, nowMs)) };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/notifications/notices/:id',
    access: { role: 'viewer', limit: 'admin_reads', reach: 'scope' },
    schema: {
      summary: 'The updates that a notice speaks of, as they are now: what its link opens',
      tags,
      params: IdPath,
      response: { 200: NoticeSet },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const row = await findDelivery(database.read, params.id);
      const set = row && (await readNoticeSet(database.read, { row, scope: operator.groups }));
      if (!set) throw noSuch('message, or it is too old');
      return set;
    },
  });
}
