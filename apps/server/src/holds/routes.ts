import { Hold, HoldDetail, HoldRequest } from '@tidegate/protocol/holds-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { countHeld } from './count-held.ts';
import { holdView } from './hold-view.ts';
import { holdFault, placeHold, releaseHold } from './manage-holds.ts';
import { countHolds, findHold, type HoldRow, holdOf, listHolds } from './store.ts';

const URL = '/api/v1/holds';
const tags = ['holds'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
/** A hold only takes away, and what is released still has to be approved: no factor is asked for. */
const change: OperatorAccess = {
  role: 'approver',
  limit: 'admin_operations',
  reach: 'fleet',
  scope: 'approve',
};

/** Holds: packages that stay as they are until a time. */
export function mountHolds(routes: Routes, platform: Platform): void {
  const { database } = platform;

  async function detailOf(row: HoldRow): Promise<HoldDetail> {
    const view = holdView(row, platform.now());
    const held = view.state === 'in_force' ? await countHeld(database.read, holdOf(row)) : null;
    return { ...view, held };
  }

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Holds of packages, newest first, with those that have ended',
      tags,
      querystring: strict(PageQuery),
      response: { 200: pageOf(Hold) },
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const rows = await listHolds(database.read, { limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const items = page.map((row) => holdView(row, platform.now()));
      return { items, next_cursor, total: await countHolds(database.read) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One hold, with what it keeps back now',
      tags,
      params: IdPath,
      response: { 200: HoldDetail },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findHold(database.read, params.id);
      if (!row) throw noSuch('hold');
      return detailOf(row);
    },
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Keep packages as they are on hosts until a time: nothing that would change one is approved',
      tags,
      body: HoldRequest,
      response: { 201: HoldDetail },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const fault = await holdFault(database.read, body, platform.now());
      if (fault) throw notValid([fault]);
      const asked = { request: body, actor: operator.username };
      return detailOf(await database.transact((tx) => placeHold(tx, platform, asked)));
    },
  });

  routes.operator({
    ...{ method: 'DELETE', url: `${URL}/:id`, access: change },
    schema: {
      summary: 'Release held packages. Their updates still have to be approved',
      tags,
      params: IdPath,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const asked = { id: params.id, actor: operator.username };
      if (!(await database.transact((tx) => releaseHold(tx, platform, asked)))) throw noSuch('hold');
    },
  });
}
