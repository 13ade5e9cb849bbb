import { ApiTokenItem, CreatedApiToken, NewApiToken } from '@tidegate/protocol/api-tokens-api';
import { strict } from '@tidegate/protocol/scalars';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { createApiToken, revokeApiToken } from './change-tokens.ts';
import { tokenView } from './read-token.ts';
import { countApiTokens, listApiTokens } from './store.ts';

const URL = '/api/v1/admin/api-tokens';
const reading: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'fleet' };
// Refused to API tokens: a token outlives the session that made it.
const changing: OperatorAccess = {
  ...reading,
  limit: 'admin_operations',
  scope: null,
  stepUp: 'credentials',
};
const tags = ['api tokens'];

/** API tokens for scripts and pipelines. */
export function mountApiTokens(routes: Routes, { platform }: { platform: Platform }): void {
  const db = platform.database.read;
  routes.operator({
    method: 'GET',
    url: URL,
    access: reading,
    schema: {
      tags,
      summary: 'API tokens that are not revoked, newest first',
      querystring: strict(PageQuery),
      response: { 200: pageOf(ApiTokenItem) },
    },
    handler: async ({ query }) => {
      const { limit, after: before } = askedPage(query);
      const rows = await listApiTokens(db, { limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const nowMs = platform.now();
      return {
        items: page.map((row) => tokenView(row, nowMs)),
        next_cursor,
        total: await countApiTokens(db),
      };
    },
  });
  routes.operator({
    method: 'POST',
    url: URL,
    access: changing,
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary: 'Make an API token; the secret is shown once',
      body: NewApiToken,
      response: { 201: CreatedApiToken },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const made = await createApiToken(platform, { asked: body, by: operator });
      return { ...tokenView(made.row, platform.now()), token: made.secret };
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: changing,
    schema: { tags, summary: 'Revoke an API token permanently', refuses: ['not_found'], params: IdPath },
    handler: async ({ operator, params: { id } }) => {
      if (!(await revokeApiToken(platform, { id, by: operator }))) {
        throw noSuch('API token');
      }
    },
  });
}
