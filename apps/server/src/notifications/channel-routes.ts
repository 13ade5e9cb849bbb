import { ChannelRequest, ChannelTest, NotificationChannel } from '@tidegate/protocol/notifications-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { type ChannelRow, countsOfChannels, findChannel, listChannels } from './channel-store.ts';
import type { NotificationDeps } from './deps.ts';
import { addChannel, changeChannel, removeChannel, testChannel } from './manage-channels.ts';
import { channelView } from './views.ts';

const URL = '/api/v1/notifications/channels';
const tags = ['notifications'];
const read: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'fleet', scope: 'admin' };
const act: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'fleet' };
/** A channel is told of the whole fleet, for as long as it stays. */
const change: OperatorAccess = { ...act, stepUp: true };
const NO_COUNTS = { rules: 0, waiting: 0, dead: 0 };

/** Where notifications are sent to. */
export function mountChannels(routes: Routes, deps: NotificationDeps & { stopped: AbortSignal }): void {
  const { platform, stopped } = deps;
  const db = platform.database.read;

  async function viewOf(row: ChannelRow): Promise<NotificationChannel> {
    const counts = (await countsOfChannels(db)).get(row.id) ?? NO_COUNTS;
    return channelView(row, { counts, nowMs: platform.now() });
  }

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Channels of notifications, by name',
      tags,
      response: { 200: strict({ items: Type.Array(NotificationChannel) }) },
    },
    handler: async () => {
      const counts = await countsOfChannels(db);
      const nowMs = platform.now();
      const rows = await listChannels(db);
      return {
        items: rows.map((row) => channelView(row, { counts: counts.get(row.id) ?? NO_COUNTS, nowMs })),
      };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One channel of notifications, and how it works',
      tags,
      params: IdPath,
      response: { 200: NotificationChannel },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findChannel(db, params.id);
      if (!row) throw noSuch('channel');
      return viewOf(row);
    },
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Add a channel of notifications. Its secret is stored sealed, and never shown',
      tags,
      body: ChannelRequest,
      response: { 201: NotificationChannel },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) =>
      viewOf(await addChannel(deps, { request: body, actor: operator.username })),
  });

  routes.operator({
    ...{ method: 'PUT', url: `${URL}/:id`, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary:
        'Change a channel of notifications. Without a secret the stored one stays, if it goes to the same place',
      tags,
      params: IdPath,
      body: ChannelRequest,
      response: { 200: NotificationChannel },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params, body }) =>
      viewOf(await changeChannel(deps, { id: params.id, request: body, actor: operator.username })),
  });

  routes.operator({
    ...{ method: 'DELETE', url: `${URL}/:id`, access: change },
    schema: {
      summary: 'Remove a channel of notifications with its deliveries, also those that wait',
      tags,
      params: IdPath,
      response: { 204: Type.Null() },
      refuses: ['not_found', 'conflict'],
    },
    handler: async ({ operator, params }) => removeChannel(deps, { id: params.id, actor: operator.username }),
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/test`, access: act },
    schema: {
      summary: 'Send a test message now, and say in words how it went',
      tags,
      params: IdPath,
      response: { 200: ChannelTest },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) =>
      testChannel(deps, { id: params.id, actor: operator.username, signal: stopped }),
  });
}
