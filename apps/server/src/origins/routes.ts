import { Envelope } from '@tidegate/protocol/documents';
import { Origin, OriginDetail, OriginRequest } from '@tidegate/protocol/origins-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { type OriginDeps, originFault, registerOrigin, revokeOrigin } from './register-origin.ts';
import { type AnyOriginRow, countOrigins, findOrigin, listOrigins } from './store.ts';

const URL = '/api/v1/admin/origins';
const tags = ['third-party origins'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
/** A registration lets updates pass that the gate stops, on many hosts and for a long time. */
const change: OperatorAccess = {
  ...{ role: 'admin', limit: 'admin_operations', reach: 'fleet', scope: 'override' },
  stepUp: true,
};

/** Third-party repositories that an admin registered by key and suites. */
export function mountOrigins(routes: Routes, deps: OriginDeps): void {
  const { platform } = deps;
  const { database } = platform;

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Registered third-party origins, newest first, with those that have ended',
      tags,
      querystring: strict(PageQuery),
      response: { 200: pageOf(Origin) },
    },
    handler: async ({ query }) => {
      const { limit, after: before } = askedPage(query);
      const rows = await listOrigins(database.read, { limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const items = page.map((row) => originView(row, platform.now()));
      return { items, next_cursor, total: await countOrigins(database.read) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One registered origin, with the envelope that the server signed',
      tags,
      params: IdPath,
      response: { 200: OriginDetail },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findOrigin(database.read, params.id);
      if (!row) throw noSuch('origin');
      return originDetail(row, platform.now());
    },
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Register a third-party origin by its signing key and suites',
      tags,
      body: OriginRequest,
      response: { 201: OriginDetail },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const fault = originFault(body, platform.now());
      if (fault) throw notValid([fault]);
      const asked = { request: body, actor: operator.username };
      const row = await database.transact((tx) => registerOrigin(tx, deps, asked));
      return originDetail(row, platform.now());
    },
  });

  routes.operator({
    ...{ method: 'DELETE', url: `${URL}/:id`, access: change },
    schema: {
      summary: 'Revoke a registered origin. Approvals that were signed with it keep their token',
      tags,
      params: IdPath,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const asked = { id: params.id, actor: operator.username };
      if (!(await database.transact((tx) => revokeOrigin(tx, platform, asked)))) throw noSuch('origin');
    },
  });
}

function originView(row: AnyOriginRow, nowMs: number): Origin {
  const { id, sha256, ecosystem, signing_key: key, suites, rule, min_age_days, reason } = row;
  const { created_by, created_at, ended_by, ended_at, end_reason, ends_at } = row;
  const isOver = end_reason === 'expired' || ends_at <= nowMs;
  return Value.Parse(Origin, {
    ...{ id, sha256, ecosystem, key, suites: JSON.parse(suites), rule, min_age_days, reason },
    ...{ created_by, created_at: rfc3339(created_at), ended_by, ends_at: rfc3339(ends_at) },
    state: end_reason === 'revoked' ? 'revoked' : isOver ? 'expired' : 'in_force',
    ended_at: ended_at === null ? null : rfc3339(ended_at),
  });
}

function originDetail(row: AnyOriginRow, nowMs: number): OriginDetail {
  const envelope = Value.Parse(Envelope, JSON.parse(row.envelope));
  return Value.Parse(OriginDetail, { ...originView(row, nowMs), envelope });
}
