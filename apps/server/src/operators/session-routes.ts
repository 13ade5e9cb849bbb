import { strict, Uuid } from '@tidegate/protocol/scalars';
import { PasswordChange, Session } from '@tidegate/protocol/sessions-api';
import { Type } from 'typebox';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { AuthDeps } from './auth-routes.ts';
import { changesCredential, changesOwn, readsOwn } from './own-account.ts';
import { changeOwnPassword } from './sessions/change-password.ts';
import { endOneSession, endOtherSessions, maySeeOthers, sessionView } from './sessions/end-sessions.ts';
import { countSessions, listSessions } from './sessions/store.ts';

const URL = '/api/v1/auth/sessions';
const tags = ['authentication'];

/** Open sessions, and the caller's password. */
export function mountSessions(routes: Routes, deps: AuthDeps): void {
  const { platform } = deps;
  const { read } = platform.database;
  routes.operator({
    method: 'GET',
    url: URL,
    access: readsOwn,
    schema: {
      tags,
      summary: "Open sessions, newest first: your own, or an operator's for admins",
      querystring: strict({ ...PageQuery, operator_id: Type.Optional(Uuid) }),
      response: { 200: pageOf(Session) },
    },
    handler: async ({ operator: caller, query }) => {
      const { operator_id: operatorId = caller.operatorId } = query;
      if (operatorId !== caller.operatorId && !maySeeOthers(caller)) {
        throw new Refusal('forbidden', {
          detail: 'The sessions of others are for admins of the whole fleet.',
        });
      }
      const { limit, after: before } = askedPage(query);
      const of = { operatorId, nowMs: platform.now(), idleMs: deps.sessionIdleMs };
      const rows = await listSessions(read, { ...of, limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      return {
        items: page.map((row) => sessionView(row, caller.sessionId)),
        next_cursor,
        total: await countSessions(read, of),
      };
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: changesCredential,
    schema: {
      tags,
      summary: "End a session: your own, or anybody's for admins",
      refuses: ['not_found'],
      params: IdPath,
    },
    handler: async ({ operator, params }) => {
      await endOneSession(platform, { caller: operator, id: params.id });
    },
  });
  routes.operator({
    method: 'DELETE',
    url: URL,
    access: changesCredential,
    schema: { tags, summary: 'End all of your other sessions' },
    handler: async ({ operator }) => {
      await endOtherSessions(platform, operator);
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/auth/password',
    access: changesOwn,
    schema: {
      tags,
      summary: 'Change your password; ends your other sessions',
      body: PasswordChange,
      refuses: ['conflict'],
    },
    handler: async ({ operator: caller, body, request, reply }) => {
      const operator = await changeOwnPassword(deps, { caller, asked: body });
      // A new password makes every device unknown, so this one is registered again.
      const device = deps.devices.remember(operator, request.headers.cookie);
      reply.header('set-cookie', device);
    },
  });
}
