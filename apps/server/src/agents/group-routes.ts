import { AgentItem } from '@tidegate/protocol/agents-api';
import { AgentChange, GroupItem, MoveHostsAnswer, MoveHostsRequest } from '@tidegate/protocol/groups-api';
import { Problem } from '@tidegate/protocol/problems';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { countGroups, listGroups } from './group-store.ts';
import { moveHosts } from './move-hosts.ts';
import { agentItem } from './presence.ts';
import { findAgent } from './store.ts';

const tags = ['hosts'];
const changing = { kind: 'operator', role: 'admin', limit: 'admin_operations', scope: 'hosts' } as const;

/** Groups of hosts: which there are, and which host is in which. */
export function mountGroups(app: App, { platform }: { platform: Platform }): void {
  const db = platform.database.read;
  app.route({
    method: 'GET',
    url: '/api/v1/groups',
    config: { access: { kind: 'operator', role: 'viewer', limit: 'admin_reads', reach: 'scope' } },
    schema: {
      tags,
      summary: 'Groups of hosts, by name',
      querystring: strict(PageQuery),
      response: { 200: pageOf(GroupItem), 400: Problem },
    },
    async handler(request) {
      const limit = pageLimit(request.query);
      const { cursor } = request.query;
      const scope = operatorOf(request).groups;
      const after = cursor === undefined ? null : String(decodeCursor(cursor, 1)[0]);
      const rows = await listGroups(db, { scope, limit: limit + 1, after });
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        items: page.map(({ name, hosts, updatesPending }) => ({
          ...{ name, hosts },
          updates_pending: updatesPending,
        })),
        next_cursor: last ? encodeCursor([last.name]) : null,
        total: await countGroups(db, scope),
      };
    },
  });
  app.route({
    method: 'PATCH',
    url: '/api/v1/agents/:agent_id',
    config: { access: { ...changing, reach: { of: 'agent', by: 'agent_id' } } },
    schema: {
      tags,
      summary: 'Put a host into a group, or into none',
      params: Type.Object({ agent_id: Type.String() }),
      body: AgentChange,
      response: { 200: AgentItem, 400: Problem, 403: Problem, 404: Problem },
    },
    async handler(request) {
      const { agent_id: agentId } = request.params;
      const asked = { agentIds: [agentId], group: request.body.group, by: operatorOf(request) };
      const isThere = isAgentId(agentId) && (await moveHosts(platform, asked)).not_found.length === 0;
      const row = isThere && (await findAgent(db, agentId));
      if (!row) throw new Refusal('not_found', { detail: 'There is no such agent.' });
      return agentItem(row, platform.now());
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/agents/group',
    config: { access: { ...changing, reach: 'scope' }, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      tags,
      summary: 'Put many hosts into a group, or into none',
      body: MoveHostsRequest,
      response: { 200: MoveHostsAnswer, 400: Problem, 403: Problem },
    },
    handler: (request) => {
      const { agent_ids: agentIds, group } = request.body;
      return moveHosts(platform, { agentIds, group, by: operatorOf(request) });
    },
  });
}
