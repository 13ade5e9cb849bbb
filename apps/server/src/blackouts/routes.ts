import { Blackout, BlackoutEnd, BlackoutRequest } from '@tidegate/protocol/blackouts-api';
import { strict } from '@tidegate/protocol/scalars';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { blackoutView } from './blackout-view.ts';
import { blackoutFault, createBlackout, liftBlackout } from './manage-blackouts.ts';
import { countBlackouts, findBlackout, listBlackouts } from './store.ts';

const URL = '/api/v1/blackouts';
const tags = ['blackouts'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
/** A blackout only withholds, so it never waits for a factor, and a release pipeline may begin one. */
const begin: OperatorAccess = {
  role: 'approver',
  limit: 'admin_operations',
  reach: 'fleet',
  scope: 'approve',
};
/** Ending one lets everything that was withheld begin at once. */
const end: OperatorAccess = {
  ...{ role: 'approver', limit: 'admin_operations', reach: 'fleet', stepUp: true, scope: null },
};

/** Blackouts: times in which hosts are not changed. */
export function mountBlackouts(routes: Routes, platform: Platform): void {
  const { database } = platform;

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Blackouts, newest first, with those that are over',
      tags,
      querystring: strict(PageQuery),
      response: { 200: pageOf(Blackout) },
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const rows = await listBlackouts(database.read, { limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const items = page.map((row) => blackoutView(row, platform.now()));
      return { items, next_cursor, total: await countBlackouts(database.read) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One blackout, with its next occurrences',
      tags,
      params: IdPath,
      response: { 200: Blackout },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findBlackout(database.read, params.id);
      if (!row) throw noSuch('blackout');
      return blackoutView(row, platform.now());
    },
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: begin, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Withhold every change from hosts for a time, whoever approved it',
      tags,
      body: BlackoutRequest,
      response: { 201: Blackout },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const fault = await blackoutFault(database.read, body, platform.now());
      if (fault) throw notValid([fault]);
      const asked = { request: body, actor: operator.username };
      const row = await database.transact((tx) => createBlackout(tx, platform, asked));
      return blackoutView(row, platform.now());
    },
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/end`, access: end },
    schema: {
      summary: 'End a blackout before its time: what it withheld is delivered at once',
      tags,
      params: IdPath,
      body: BlackoutEnd,
      response: { 200: Blackout },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params, body }) => {
      const asked = { id: params.id, reason: body.reason, actor: operator.username };
      const row = await database.transact((tx) => liftBlackout(tx, platform, asked));
      if (!row) throw noSuch('blackout');
      return blackoutView(row, platform.now());
    },
  });
}
