import { ApiTokenItem, CreatedApiToken, NewApiToken } from '@tidegate/protocol/api-tokens-api';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { createApiToken, revokeApiToken } from './change-tokens.ts';
import { tokenView } from './read-token.ts';
import { countApiTokens, listApiTokens } from './store.ts';

const URL = '/api/v1/admin/api-tokens';
const reading = { kind: 'operator', role: 'admin', limit: 'admin_reads', reach: 'fleet' } as const;
// No token makes or ends tokens: one outlives the session that made it.
const changing = { ...reading, limit: 'admin_operations', scope: null, stepUp: 'credentials' } as const;
const tags = ['api tokens'];

/** Tokens for scripts and pipelines, for admins: list, make, revoke. */
export function mountApiTokens(app: App, { platform }: { platform: Platform }): void {
  const db = platform.database.read;
  app.route({
    method: 'GET',
    url: URL,
    config: { access: reading },
    schema: {
      tags,
      summary: 'API tokens that are not revoked, newest first',
      querystring: strict(PageQuery),
      response: { 200: pageOf(ApiTokenItem), 400: Problem },
    },
    async handler({ query }) {
      const limit = pageLimit(query);
      const before = query.cursor === undefined ? null : String(decodeCursor(query.cursor, 1)[0]);
      const rows = await listApiTokens(db, { limit: limit + 1, before });
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      const nowMs = platform.now();
      return {
        items: page.map((row) => tokenView(row, nowMs)),
        next_cursor: last ? encodeCursor([last.id]) : null,
        total: await countApiTokens(db),
      };
    },
  });
  app.route({
    method: 'POST',
    url: URL,
    config: { access: changing, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      tags,
      summary: 'Make an API token; the secret is shown once',
      body: NewApiToken,
      response: { 201: CreatedApiToken, 400: Problem, 409: Problem },
    },
    async handler(request, reply) {
      const made = await createApiToken(platform, { asked: request.body, by: operatorOf(request) });
      return reply.code(201).send({ ...tokenView(made.row, platform.now()), token: made.secret });
    },
  });
  app.route({
    method: 'DELETE',
    url: `${URL}/:id`,
    config: { access: changing },
    schema: { tags, summary: 'Revoke an API token; forward only', params: strict({ id: Uuid }) },
    async handler(request, reply) {
      const { id } = request.params;
      if (!(await revokeApiToken(platform, { id, by: operatorOf(request) }))) {
        throw new Refusal('not_found', { detail: 'There is no such API token.' });
      }
      return reply.code(204).send();
    },
  });
}
