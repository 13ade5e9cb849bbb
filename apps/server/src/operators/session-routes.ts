import { strict, Uuid } from '@tidegate/protocol/scalars';
import { PasswordChange, Session } from '@tidegate/protocol/sessions-api';
import { Type } from 'typebox';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { AuthDeps } from './auth-routes.ts';
import { changeOwnPassword } from './sessions/change-password.ts';
import { endOneSession, endOtherSessions, maySeeOthers, sessionView } from './sessions/end-sessions.ts';
import { countSessions, listSessions } from './sessions/store.ts';

const URL = '/api/v1/auth/sessions';
const tags = ['authentication'];
const reads = {
  kind: 'operator',
  role: 'viewer',
  limit: 'admin_reads',
  reach: 'none',
  toEnrol: true,
} as const;
const acts = { ...reads, limit: 'admin_operations' } as const;
const ends = { ...acts, stepUp: 'credentials' } as const;
const params = strict({ id: Uuid });

/** The sessions that are open, the end of them, and one's own password. */
export function mountSessions(app: App, deps: AuthDeps): void {
  const { platform } = deps;
  const { read } = platform.database;
  app.route({
    method: 'GET',
    url: URL,
    config: { access: reads },
    schema: {
      tags,
      summary: 'Open sessions, newest first: your own, or for admins those of an operator',
      querystring: strict({ ...PageQuery, operator_id: Type.Optional(Uuid) }),
      response: { 200: pageOf(Session) },
    },
    handler: async (request) => {
      const caller = operatorOf(request);
      const { cursor, operator_id: operatorId = caller.operatorId } = request.query;
      if (operatorId !== caller.operatorId && !maySeeOthers(caller)) {
        throw new Refusal('forbidden', {
          detail: 'The sessions of others are for admins of the whole fleet.',
        });
      }
      const limit = pageLimit(request.query);
      const of = { operatorId, nowMs: platform.now(), idleMs: deps.sessionIdleMs };
      const before = cursor === undefined ? null : String(decodeCursor(cursor, 1)[0]);
      const rows = await listSessions(read, { ...of, limit: limit + 1, before });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        items: page.map((row) => sessionView(row, caller.sessionId)),
        next_cursor: rows.length > limit && last ? encodeCursor([last.id]) : null,
        total: await countSessions(read, of),
      };
    },
  });
  app.route({
    method: 'DELETE',
    url: `${URL}/:id`,
    config: { access: ends },
    schema: { tags, summary: 'End a session: your own, or for admins that of anybody', params },
    handler: async (request, reply) => {
      await endOneSession(platform, { caller: operatorOf(request), id: request.params.id });
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'DELETE',
    url: URL,
    config: { access: ends },
    schema: { tags, summary: 'End all of your other sessions' },
    handler: async (request, reply) => {
      await endOtherSessions(platform, operatorOf(request));
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/auth/password',
    config: { access: acts },
    schema: { tags, summary: 'A new password for yourself; ends your other sessions', body: PasswordChange },
    handler: async (request, reply) => {
      const operator = await changeOwnPassword(deps, { caller: operatorOf(request), asked: request.body });
      // The new password made every device unknown, this one too.
      const device = deps.devices.remember(operator, request.headers.cookie);
      return reply.code(204).header('set-cookie', device).send();
    },
  });
}
