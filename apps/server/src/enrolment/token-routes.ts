import {
  CreatedRegistrationToken,
  CreateRegistrationToken,
  RegistrationTokenItem,
} from '@tidegate/protocol/enrolment-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { demandGroup } from '../agents/move-hosts.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { createRegistrationToken, withdrawRegistrationToken } from './registration-tokens.ts';
import { countRegistrationTokens, findRegistrationToken, listRegistrationTokens } from './store.ts';
import { tokenView } from './token-view.ts';

const URL = '/api/v1/admin/registration-tokens';
const tags = ['enrolment'];
const reads = {
  kind: 'operator',
  role: 'admin',
  limit: 'admin_reads',
  reach: 'scope',
  scope: 'hosts',
} as const;
const acts = { ...reads, limit: 'admin_operations' } as const;
const TokenPath = Type.Object({ id: Type.String() });

/** Registration tokens, for admins: list, make, withdraw. */
export function mountRegistrationTokens(app: App, { platform }: { platform: Platform }): void {
  const db = platform.database.read;
  app.route({
    method: 'GET',
    url: URL,
    config: { access: reads },
    schema: {
      tags,
      summary: 'List registration tokens, newest first',
      querystring: strict(PageQuery),
      response: { 200: pageOf(RegistrationTokenItem) },
    },
    async handler(request) {
      const { query } = request;
      const scope = operatorOf(request).groups;
      const limit = pageLimit(query);
      const before = query.cursor === undefined ? null : positionOf(query.cursor);
      const rows = await listRegistrationTokens(db, { scope, limit: limit + 1, before });
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        items: page.map(tokenView),
        next_cursor: last ? encodeCursor([last.id]) : null,
        total: await countRegistrationTokens(db, scope),
      };
    },
  });
  app.route({
    method: 'GET',
    url: `${URL}/:id`,
    config: { access: reads },
    schema: {
      tags,
      summary: 'One registration token',
      params: TokenPath,
      response: { 200: RegistrationTokenItem },
    },
    async handler(request) {
      const { id } = request.params;
      const scope = operatorOf(request).groups;
      const row = isUuid(id) && (await findRegistrationToken(db, { id, scope }));
      if (!row) throw unknownToken();
      return tokenView(row);
    },
  });
  app.route({
    method: 'POST',
    url: URL,
    config: { access: acts },
    schema: {
      tags,
      summary: 'Make a registration token; the secret is shown once',
      body: CreateRegistrationToken,
      response: { 201: CreatedRegistrationToken },
    },
    async handler(request, reply) {
      const { username: actor, groups } = operatorOf(request);
      demandGroup(groups, request.body.group ?? null);
      const created = await createRegistrationToken(platform, { request: request.body, actor });
      if (!created.ok) {
        throw new Refusal('invalid_request', {
          detail: 'The body is not valid.',
          errors: [{ path: '/expires_at', message: created.message }],
        });
      }
      return reply.code(201).send({ ...tokenView(created.row), token: created.secret });
    },
  });
  app.route({
    method: 'DELETE',
    url: `${URL}/:id`,
    config: { access: acts },
    schema: { tags, summary: 'Withdraw a registration token', params: TokenPath },
    async handler(request, reply) {
      const { id } = request.params;
      const { username: actor, groups: scope } = operatorOf(request);
      const withdrawn = isUuid(id) && (await withdrawRegistrationToken(platform, { id, scope, actor }));
      if (!withdrawn) throw unknownToken();
      return reply.code(204).send();
    },
  });
}

/** All ids have one form. */
const isUuid: (text: string) => boolean = isAgentId;

function unknownToken(): Refusal {
  return new Refusal('not_found', { detail: 'There is no such registration token.' });
}

function positionOf(cursor: string): string {
  const [id] = decodeCursor(cursor, 1);
  return String(id).replaceAll('\0', '');
}
