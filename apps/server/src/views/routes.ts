import { strict } from '@tidegate/protocol/scalars';
import { NewView, SavedView, VIEW_QUERIES, VIEWS_MAX, ViewPage } from '@tidegate/protocol/views-api';
import { Value } from 'typebox/value';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { REASON_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { countViews, deleteView, findView, insertView, listViews, type ViewRow } from './store.ts';

const URL = '/api/v1/views';
const tags = ['views'];
const reading: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'none' };
const changing: OperatorAccess = { ...reading, limit: 'admin_operations' };

/** Named filters, private or shared. Operators who are bound to groups of hosts see only their own. */
export function mountViews(routes: Routes, { platform }: { platform: Platform }): void {
  const { database } = platform;

  routes.operator({
    method: 'GET',
    url: URL,
    access: reading,
    schema: {
      summary: 'Saved views: your own and shared ones',
      tags,
      querystring: strict(PageQuery),
      response: { 200: pageOf(SavedView) },
    },
    handler: async ({ operator: { operatorId, groups }, query }) => {
      const { limit, after } = askedPage(query);
      const of = { operatorId, seesShared: groups === null };
      const rows = await listViews(database.read, { ...of, limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      return {
        items: page.map((row) => viewItem(row, operatorId)),
        next_cursor,
        total: await countViews(database.read, of),
      };
    },
  });

  routes.operator({
    method: 'POST',
    url: URL,
    access: changing,
    bodyMaxBytes: REASON_BODY_MAX_BYTES,
    schema: {
      summary: 'Save a view; only an admin may share one',
      tags,
      body: NewView,
      response: { 201: SavedView },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const { operatorId, username, role, groups } = operator;
      const { name, page, query, shared = false } = body;
      requireQuery(page, query);
      if (shared && (role !== 'admin' || groups !== null)) {
        throw new Refusal('forbidden', { detail: 'Only an admin of the whole fleet may share a view.' });
      }
      const row = {
        ...{ id: platform.newId(), operator_id: operatorId, created_by: username, name, page },
        ...{ query: JSON.stringify(query), shared: shared ? 1 : 0, created_at: platform.now() },
      };
      await database.transact(async (tx) => {
        if ((await countViews(tx, { operatorId, seesShared: false })) >= VIEWS_MAX) {
          throw new Refusal('conflict', { detail: `An operator keeps at most ${VIEWS_MAX} views.` });
        }
        if (!(await insertView(tx, row))) {
          throw new Refusal('conflict', { detail: 'A view with this name exists for this page.' });
        }
        if (shared) await noteChange(tx, platform, { row, change: 'added', actor: username });
      });
      return viewItem(row, operatorId);
    },
  });

  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: changing,
    schema: {
      summary: 'Delete a view: your own, or a shared one for admins',
      refuses: ['not_found'],
      tags,
      params: IdPath,
    },
    handler: async ({ operator, params }) => {
      const { operatorId, username, role, groups } = operator;
      await database.transact(async (tx) => {
        const row = await findView(tx, params.id);
        const isOwn = row?.operator_id === operatorId;
        if (!row || !(isOwn || (row.shared === 1 && groups === null))) {
          throw noSuch('view');
        }
        if (row.shared === 1 && (role !== 'admin' || groups !== null)) {
          throw new Refusal('forbidden', { detail: 'Only an admin may delete a view that is shared.' });
        }
        if ((await deleteView(tx, row.id)) && row.shared === 1) {
          await noteChange(tx, platform, { row, change: 'deleted', actor: username });
        }
      });
    },
  });
}

/** A view must open: its query has to be valid for the list. */
function requireQuery(page: ViewPage, query: NewView['query']): void {
  const schema = VIEW_QUERIES[page];
  if (Value.Check(schema, query)) return;
  const errors = Value.Errors(schema, query)
    .slice(0, 20)
    .map(({ instancePath, message }) => ({ path: `body/query${instancePath}`, message }));
  const allowed = Object.keys(schema.properties).join(', ');
  throw new Refusal('invalid_request', {
    detail: `The query is not valid for the list of ${page}, which takes ${allowed}.`,
    errors,
  });
}

async function noteChange(
  tx: Tx,
  platform: Platform,
  { row, change, actor }: { row: ViewRow; change: 'added' | 'deleted'; actor: string },
): Promise<void> {
  const { id, name, page, query } = row;
  const parsed: unknown = JSON.parse(query);
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'shared_view_changed', severity: 'info', component: 'views', actor },
    content: { view_id: id, name, page, query: parsed, change, actor },
  });
}

function viewItem(row: ViewRow, operatorId: string): SavedView {
  return {
    id: row.id,
    name: row.name,
    page: Value.Parse(ViewPage, row.page),
    query: Value.Parse(SavedView.properties.query, JSON.parse(row.query)),
    shared: row.shared === 1,
    own: row.operator_id === operatorId,
    created_by: row.created_by,
    created_at: rfc3339(row.created_at),
  };
}
