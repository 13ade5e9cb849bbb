import { NewOperator, Operator, OperatorChange } from '@tidegate/protocol/operators-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { addOperator, type ChangeDeps, changeOperator, removeOperator } from './change-operators.ts';
import { operatorView, operatorViews } from './operator-view.ts';
import { resetFactors } from './reset-factors.ts';
import { countOperators, findOperator, listOperators } from './store.ts';

const URL = '/api/v1/admin/operators';
const read: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'fleet' };
const change: OperatorAccess = { ...read, limit: 'admin_operations', stepUp: 'credentials', scope: null };
const tags = ['operators'];
const Kept = Type.String({
  pattern: '^(sessions|api_tokens)(,(sessions|api_tokens))?$',
  description: 'sessions, api_tokens or both, separated by a comma',
});

/** Operators, for admins. */
export function mountOperators(routes: Routes, deps: ChangeDeps): void {
  const { platform, passwords, endTokens } = deps;
  const { database } = platform;
  routes.operator({
    method: 'GET',
    url: URL,
    access: read,
    schema: {
      tags,
      summary: 'Operators by name, with their second factors',
      querystring: strict({
        ...PageQuery,
        q: Type.Optional(
          Type.String({ minLength: 1, maxLength: 128, description: 'part of the name, in any case' }),
        ),
      }),
      response: { 200: pageOf(Operator) },
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const rows = await listOperators(database.read, { limit: limit + 1, after, part: query.q });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ username }) => username });
      const total = await countOperators(database.read, query.q);
      return {
        items: await operatorViews(database.read, page),
        next_cursor,
        total,
      };
    },
  });
  routes.operator({
    method: 'GET',
    url: `${URL}/:id`,
    access: read,
    schema: {
      tags,
      summary: 'One operator',
      params: IdPath,
      response: { 200: Operator },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findOperator(database.read, params.id);
      if (!row) throw noSuch('operator');
      return operatorView(database.read, row);
    },
  });
  routes.operator({
    method: 'POST',
    url: URL,
    access: change,
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary: 'Add an operator',
      body: NewOperator,
      response: { 201: Operator },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const row = await addOperator(platform, passwords, { asked: body, by: operator });
      return operatorView(database.read, row);
    },
  });
  routes.operator({
    method: 'PATCH',
    url: `${URL}/:id`,
    access: change,
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary:
        'Change role or password, disable or enable; not the last admin. A new password ends factors, sessions and API tokens, except those in `keep`',
      params: IdPath,
      body: OperatorChange,
      response: { 200: Operator },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator, params, body }) => {
      const asked = { id: params.id, change: body, by: operator };
      return operatorView(database.read, await changeOperator(deps, asked));
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: change,
    schema: {
      tags,
      summary: 'Delete an operator; not the last admin',
      refuses: ['conflict', 'not_found'],
      params: IdPath,
    },
    handler: async ({ operator, params }) => {
      await removeOperator(platform, { id: params.id, by: operator, endTokens });
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id/factors`,
    access: change,
    schema: {
      tags,
      summary: 'Remove all second factors of an operator; ends its sessions and API tokens unless kept',
      refuses: ['conflict', 'not_found'],
      params: IdPath,
      querystring: strict({ keep: Type.Optional(Kept) }),
    },
    handler: async ({ operator, params, query }) => {
      const asked = new Set(query.keep?.split(','));
      const keep = (['sessions', 'api_tokens'] as const).filter((what) => asked.has(what));
      await resetFactors(platform, { id: params.id, by: operator, keep, endTokens });
    },
  });
}
