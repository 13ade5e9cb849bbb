import { HostsSetAside, TrustHostRequest } from '@tidegate/protocol/artifacts-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { rfc3339 } from '../platform/clock.ts';
import { REASON_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { countSetAside, listSetAside } from './distrust-store.ts';
import { trustHost } from './trust-host.ts';

const PATH = '/api/v1/artifacts/hosts-set-aside';
const tags = ['artifacts'];

/** Hosts whose reports about artifacts are ignored, and how an operator trusts them again. */
export function mountSetAside(routes: Routes, { platform }: { platform: Platform }): void {
  const { database } = platform;

  routes.operator({
    method: 'GET',
    url: PATH,
    access: { role: 'viewer', limit: 'admin_reads', reach: 'fleet' },
    schema: {
      summary: 'Hosts whose reports about artifacts are ignored',
      tags,
      querystring: strict({ ...PageQuery, agent_id: Type.Optional(Uuid) }),
      response: { 200: HostsSetAside },
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const only = query.agent_id ?? null;
      const rows = await listSetAside(database.read, { after: after ?? '', only, limit: limit + 1 });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ agent_id: id }) => id });
      return {
        items: page.map(({ since, ...row }) => ({ ...row, since: rfc3339(since) })),
        next_cursor,
        total: await countSetAside(database.read, only),
      };
    },
  });

  routes.operator({
    method: 'POST',
    url: `${PATH}/:agent_id/trust`,
    // It passes what the gate stops, so an API token needs the scope of an override.
    access: { role: 'approver', limit: 'approvals', reach: 'fleet', scope: 'override' },
    bodyMaxBytes: REASON_BODY_MAX_BYTES,
    schema: {
      summary: "Trust a host's reports about artifacts again",
      tags,
      params: strict({ agent_id: Uuid }),
      body: TrustHostRequest,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator: { username: operator }, params, body }) => {
      const asked = { agentId: params.agent_id, reason: body.reason, operator };
      if (!(await trustHost(platform, asked))) {
        throw new Refusal('not_found', { detail: 'This host is not set aside.' });
      }
    },
  });
}
