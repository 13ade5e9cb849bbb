import { strict } from '@tidegate/protocol/scalars';
import { OperatorSession } from '@tidegate/protocol/sessions-api';
import type { OperatorAccess } from '../platform/http/access.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { AuthDeps } from './auth-routes.ts';
import { endEverySession, endSessionsOf, sessionView } from './sessions/end-sessions.ts';
import { countSessions, listSessions } from './sessions/store.ts';
import { operatorNames } from './store.ts';

const URL = '/api/v1/admin/sessions';
const read: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'fleet' };
const change: OperatorAccess = { ...read, limit: 'admin_operations', stepUp: 'credentials', scope: null };
const tags = ['operators'];

/** Who is in: the open sessions of every operator, for admins of the whole fleet. */
export function mountAllSessions(routes: Routes, deps: Pick<AuthDeps, 'platform' | 'sessionIdleMs'>): void {
  const { platform } = deps;
  const db = platform.database.read;
  routes.operator({
    method: 'GET',
    url: URL,
    access: read,
    schema: {
      tags,
      summary: 'Open sessions of every operator, newest first',
      querystring: strict(PageQuery),
      response: { 200: pageOf(OperatorSession) },
    },
    handler: async ({ operator: caller, query }) => {
      const { limit, after: before } = askedPage(query);
      const of = { operatorId: null, nowMs: platform.now(), idleMs: deps.sessionIdleMs };
      const rows = await listSessions(db, { ...of, limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const names = await operatorNames(db, [...new Set(page.map(({ operator_id }) => operator_id))]);
      return {
        items: page.map((row) => ({
          ...sessionView(row, caller.sessionId),
          operator_id: row.operator_id,
          // An operator whose row is refused has no name, and its sessions are refused too.
          username: names.get(row.operator_id) ?? row.operator_id,
        })),
        next_cursor,
        total: await countSessions(db, of),
      };
    },
  });
  routes.operator({
    method: 'DELETE',
    url: URL,
    access: change,
    schema: { tags, summary: 'End all sessions of all operators, except your own; API tokens stay' },
    handler: async ({ operator }) => {
      await endEverySession(platform, operator);
    },
  });
  routes.operator({
    method: 'DELETE',
    url: '/api/v1/admin/operators/:id/sessions',
    access: change,
    schema: {
      tags,
      summary: 'End all sessions of an operator, except your own; API tokens stay',
      params: IdPath,
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      await endSessionsOf(platform, { caller: operator, operatorId: params.id });
    },
  });
}
