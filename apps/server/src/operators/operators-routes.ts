import { NewOperator, Operator, OperatorChange } from '@tidegate/protocol/operators-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import { addOperator, type ChangeDeps, changeOperator, removeOperator } from './change-operators.ts';
import { operatorView, operatorViews } from './operator-view.ts';
import { resetFactors } from './reset-factors.ts';
import { countOperators, findOperator, listOperators } from './store.ts';

const URL = '/api/v1/admin/operators';
const read = { kind: 'operator', role: 'admin', limit: 'admin_reads', reach: 'fleet' } as const;
const change = { ...read, limit: 'admin_operations', stepUp: 'credentials', scope: null } as const;
const tags = ['operators'];
const params = strict({ id: Uuid });
const Kept = Type.String({
  pattern: '^(sessions|api_tokens)(,(sessions|api_tokens))?$',
  description: 'sessions, api_tokens or both, separated by a comma',
});

/** Operators, for admins. */
export function mountOperators(app: App, deps: ChangeDeps): void {
  const { platform, passwords, endTokens } = deps;
  const { database } = platform;
  app.route({
    method: 'GET',
    url: URL,
    config: { access: read },
    schema: {
      tags,
      summary: 'Operators by name, with the second factors that they have',
      querystring: strict(PageQuery),
      response: { 200: pageOf(Operator) },
    },
    handler: async (request) => {
      const limit = pageLimit(request.query);
      const { cursor } = request.query;
      const after = cursor === undefined ? null : String(decodeCursor(cursor, 1)[0]);
      const rows = await listOperators(database.read, { limit: limit + 1, after });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const total = await countOperators(database.read);
      return {
        items: await operatorViews(database.read, page),
        next_cursor: rows.length > limit && last ? encodeCursor([last.username]) : null,
        total,
      };
    },
  });
  app.route({
    method: 'GET',
    url: `${URL}/:id`,
    config: { access: read },
    schema: { tags, summary: 'One operator', params, response: { 200: Operator } },
    handler: async (request) => {
      const row = await findOperator(database.read, request.params.id);
      if (!row) throw new Refusal('not_found', { detail: 'There is no such operator.' });
      return operatorView(database.read, row);
    },
  });
  app.route({
    method: 'POST',
    url: URL,
    config: { access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: { tags, summary: 'Add an operator', body: NewOperator, response: { 201: Operator } },
    handler: async (request, reply) => {
      const row = await addOperator(platform, passwords, { asked: request.body, by: operatorOf(request) });
      return reply.code(201).send(await operatorView(database.read, row));
    },
  });
  app.route({
    method: 'PATCH',
    url: `${URL}/:id`,
    config: { access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      tags,
      summary:
        'Change role or password, disable or enable; never the last admin. A new password ends factors, sessions and API tokens unless they are in `keep`',
      params,
      body: OperatorChange,
      response: { 200: Operator },
    },
    handler: async (request) => {
      const asked = { id: request.params.id, change: request.body, by: operatorOf(request) };
      return operatorView(database.read, await changeOperator(deps, asked));
    },
  });
  app.route({
    method: 'DELETE',
    url: `${URL}/:id`,
    config: { access: change },
    schema: {
      tags,
      summary: 'Delete an operator; never the last admin',
      params,
    },
    handler: async (request, reply) => {
      await removeOperator(platform, { id: request.params.id, by: operatorOf(request), endTokens });
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'DELETE',
    url: `${URL}/:id/factors`,
    config: { access: change },
    schema: {
      tags,
      summary: 'Take every second factor of an operator away; ends its sessions and API tokens unless kept',
      params,
      querystring: strict({ keep: Type.Optional(Kept) }),
    },
    handler: async (request, reply) => {
      const asked = new Set(request.query.keep?.split(','));
      const keep = (['sessions', 'api_tokens'] as const).filter((what) => asked.has(what));
      await resetFactors(platform, { id: request.params.id, by: operatorOf(request), keep, endTokens });
      return reply.code(204).send();
    },
  });
}
