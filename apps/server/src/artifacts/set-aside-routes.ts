import { HostsSetAside, TrustHostRequest } from '@tidegate/protocol/artifacts-api';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { rfc3339 } from '../platform/clock.ts';
import { REASON_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { countSetAside, listSetAside } from './distrust-store.ts';
import { trustHost } from './trust-host.ts';

const PATH = '/api/v1/artifacts/hosts-set-aside';
const tags = ['artifacts'];

/** Hosts whose word about artifacts does not count, and the operator who trusts them again. */
export function mountSetAside(app: App, { platform }: { platform: Platform }): void {
  const { database } = platform;

  app.route({
    method: 'GET',
    url: PATH,
    config: { access: { kind: 'operator', role: 'viewer', limit: 'admin_reads', reach: 'fleet' } },
    schema: {
      summary: 'Hosts whose word about artifacts does not count',
      tags,
      querystring: strict({ ...PageQuery, agent_id: Type.Optional(Uuid) }),
      response: { 200: HostsSetAside, 400: Problem },
    },
    handler: async ({ query }) => {
      const limit = pageLimit(query);
      const after = query.cursor === undefined ? '' : String(decodeCursor(query.cursor, 1)[0]);
      const only = query.agent_id ?? null;
      const rows = await listSetAside(database.read, { after, only, limit: limit + 1 });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        items: page.map(({ since, ...row }) => ({ ...row, since: rfc3339(since) })),
        next_cursor: rows.length > limit && last ? encodeCursor([last.agent_id]) : null,
        total: await countSetAside(database.read, only),
      };
    },
  });

  app.route({
    method: 'POST',
    url: `${PATH}/:agent_id/trust`,
    // A way past a block, so for a token what an override is.
    config: {
      access: { kind: 'operator', role: 'approver', limit: 'approvals', reach: 'fleet', scope: 'override' },
      bodyMaxBytes: REASON_BODY_MAX_BYTES,
    },
    schema: {
      summary: 'Let the word of a host about artifacts count again',
      tags,
      params: strict({ agent_id: Uuid }),
      body: TrustHostRequest,
      response: { 204: Type.Null(), 400: Problem, 404: Problem },
    },
    handler: async (request, reply) => {
      const { username: operator } = operatorOf(request);
      const asked = { agentId: request.params.agent_id, reason: request.body.reason, operator };
      if (!(await trustHost(platform, asked))) {
        throw new Refusal('not_found', { detail: 'There is no such host among those that are set aside.' });
      }
      return reply.status(204).send(null);
    },
  });
}
