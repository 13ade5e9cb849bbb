import {
  CreatedRegistrationToken,
  CreateRegistrationToken,
  RegistrationTokenFilter,
  RegistrationTokenItem,
} from '@tidegate/protocol/enrolment-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { demandGroup } from '../agents/move-hosts.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { createRegistrationToken, withdrawRegistrationToken } from './registration-tokens.ts';
import { countRegistrationTokens, findRegistrationToken, listRegistrationTokens } from './store.ts';
import { tokenView } from './token-view.ts';

const URL = '/api/v1/admin/registration-tokens';
const tags = ['enrolment'];
const reads: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'scope', scope: 'hosts' };
const acts: OperatorAccess = { ...reads, limit: 'admin_operations' };
const TokenPath = Type.Object({ id: Type.String() });

/** Registration tokens, for admins. */
export function mountRegistrationTokens(routes: Routes, { platform }: { platform: Platform }): void {
  const db = platform.database.read;
  routes.operator({
    method: 'GET',
    url: URL,
    access: reads,
    schema: {
      tags,
      summary: 'List registration tokens, newest first',
      querystring: strict({ ...PageQuery, ...RegistrationTokenFilter }),
      response: { 200: pageOf(RegistrationTokenItem) },
    },
    handler: async ({ operator, query }) => {
      const endingAtMs = query.ending === 'true' ? platform.now() : undefined;
      const which = { scope: operator.groups, endingAtMs };
      const { limit, after: before } = askedPage(query);
      const rows = await listRegistrationTokens(db, { ...which, limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      return {
        items: page.map(tokenView),
        next_cursor,
        total: await countRegistrationTokens(db, which),
      };
    },
  });
  routes.operator({
    method: 'GET',
    url: `${URL}/:id`,
    access: reads,
    schema: {
      tags,
      summary: 'One registration token',
      params: TokenPath,
      response: { 200: RegistrationTokenItem },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const { id } = params;
      const scope = operator.groups;
      const row = isUuid(id) && (await findRegistrationToken(db, { id, scope }));
      if (!row) throw noSuch('registration token');
      return tokenView(row);
    },
  });
  routes.operator({
    method: 'POST',
    url: URL,
    access: acts,
    schema: {
      tags,
      summary: 'Make a registration token; the secret is shown once',
      body: CreateRegistrationToken,
      response: { 201: CreatedRegistrationToken },
    },
    handler: async ({ operator, body }) => {
      const { username: actor, groups } = operator;
      demandGroup(groups, body.group ?? null);
      const created = await createRegistrationToken(platform, { request: body, actor });
      if (!created.ok) {
        throw notValid([{ path: created.path, message: created.message }]);
      }
      return { ...tokenView(created.row), token: created.secret };
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: acts,
    schema: { tags, summary: 'Withdraw a registration token', refuses: ['not_found'], params: TokenPath },
    handler: async ({ operator, params }) => {
      const { id } = params;
      const { username: actor, groups: scope } = operator;
      const withdrawn = isUuid(id) && (await withdrawRegistrationToken(platform, { id, scope, actor }));
      if (!withdrawn) throw noSuch('registration token');
    },
  });
}

/** Ids of agents and of tokens are both UUIDs. */
const isUuid: (text: string) => boolean = isAgentId;
