import { AgeException, AgeExceptionRequest } from '@tidegate/protocol/approvals-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { REASON_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import {
  type AgeExceptionRow,
  countAgeExceptions,
  deleteAgeException,
  findAgeException,
  insertAgeException,
  listAgeExceptions,
} from './store.ts';

const URL = '/api/v1/admin/age-exceptions';
const tags = ['age exceptions'];
/** Every exception ends; longest life in milliseconds. */
const LIFETIME_MAX_MS = 365 * 24 * 3_600_000;
const change: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'fleet' };

/** Exceptions from the age gate for exactly one `name@version`. They expire and are audited. */
export function mountAgeExceptions(routes: Routes, { platform }: { platform: Platform }): void {
  const { database } = platform;

  routes.operator({
    method: 'GET',
    url: URL,
    access: { role: 'viewer', limit: 'admin_reads', reach: 'fleet' },
    schema: {
      summary: 'Exceptions from the age gate, newest first',
      tags,
      querystring: strict(PageQuery),
      response: { 200: pageOf(AgeException) },
    },
    handler: async ({ query }) => {
      const { limit, after: before } = askedPage(query);
      const rows = await listAgeExceptions(database.read, { limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      return {
        items: page.map(view),
        next_cursor,
        total: await countAgeExceptions(database.read),
      };
    },
  });

  routes.operator({
    method: 'GET',
    url: `${URL}/:id`,
    access: { role: 'viewer', limit: 'admin_reads', reach: 'fleet' },
    schema: {
      summary: 'One exception',
      tags,
      params: IdPath,
      response: { 200: AgeException },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findAgeException(database.read, params.id);
      if (!row) throw noSuch('exception');
      return view(row);
    },
  });

  routes.operator({
    method: 'POST',
    url: URL,
    // It passes what the gate stops, so an API token needs the scope of an override.
    access: { ...change, scope: 'override' },
    bodyMaxBytes: REASON_BODY_MAX_BYTES,
    schema: {
      summary: 'Except one version from the age gate',
      tags,
      body: AgeExceptionRequest,
      response: { 201: AgeException },
    },
    handler: async ({ operator, body }) => {
      const { ecosystem, name, version, reason, expires_at } = body;
      const actor = operator.username;
      const nowMs = platform.now();
      const wanted = {
        id: platform.newId(),
        ecosystem,
        name,
        version,
        reason,
        created_by: actor,
        created_at: nowMs,
        expires_at: expiryOf(expires_at, nowMs),
        deleted_at: null,
      };
      const row = await database.transact(async (tx) => {
        const made = await insertAgeException(tx, wanted);
        await appendEvent(tx, platform, {
          kind: 'system',
          type: 'age_exception_added',
          severity: 'warning',
          component: 'security',
          actor,
          content: {
            exception_id: made.id,
            package: { ecosystem, name, version },
            reason,
            expires_at,
            actor,
          },
        });
        return made;
      });
      return view(row);
    },
  });

  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: change,
    schema: {
      summary: 'End an exception',
      tags,
      params: IdPath,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const actor = operator.username;
      const ended = await database.transact(async (tx) => {
        const row = await deleteAgeException(tx, { id: params.id, nowMs: platform.now() });
        if (!row) return false;
        const { id, ecosystem, name, version } = row;
        await appendEvent(tx, platform, {
          kind: 'system',
          type: 'age_exception_ended',
          severity: 'info',
          component: 'security',
          actor,
          content: { exception_id: id, package: { ecosystem, name, version }, actor },
        });
        return true;
      });
      if (!ended) throw noSuch('exception');
    },
  });
}

function expiryOf(timestamp: string, nowMs: number): number {
  const expiresAtMs = Date.parse(timestamp);
  if (expiresAtMs > nowMs && expiresAtMs <= nowMs + LIFETIME_MAX_MS) return expiresAtMs;
  throw notValid([{ path: '/expires_at', message: 'must be a time in the next 365 days' }]);
}

function view(row: AgeExceptionRow): AgeException {
  const { id, ecosystem, name, version, reason, created_by, created_at, expires_at } = row;
  return Value.Parse(AgeException, {
    id,
    ecosystem,
    name,
    version,
    reason,
    created_by,
    created_at: rfc3339(created_at),
    expires_at: rfc3339(expires_at),
  });
}
