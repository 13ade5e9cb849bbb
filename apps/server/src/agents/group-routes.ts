import { AgentItem } from '@tidegate/protocol/agents-api';
import { AgentChange, GroupItem, MoveHostsAnswer, MoveHostsRequest } from '@tidegate/protocol/groups-api';
import { strict } from '@tidegate/protocol/scalars';

import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { countGroups, listGroups } from './group-store.ts';
import { moveHosts } from './move-hosts.ts';
import { type ItemDeps, oneAgentItem } from './presence.ts';
import { findAgent } from './store.ts';

const tags = ['hosts'];
const changing: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'scope', scope: 'hosts' };

/** Groups of hosts, and the hosts in them. */
export function mountGroups(routes: Routes, deps: ItemDeps & { platform: Platform }): void {
  const { platform } = deps;
  const db = platform.database.read;
  routes.operator({
    method: 'GET',
    url: '/api/v1/groups',
    access: { role: 'viewer', limit: 'admin_reads', reach: 'scope' },
    schema: {
      tags,
      summary: 'Groups of hosts, by name',
      querystring: strict(PageQuery),
      response: { 200: pageOf(GroupItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit, after } = askedPage(query);
      const scope = operator.groups;
      const rows = await listGroups(db, { scope, limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ name }) => name });
      return {
        items: page.map(({ name, hosts, updatesPending }) => ({
          ...{ name, hosts },
          updates_pending: updatesPending,
        })),
        next_cursor,
        total: await countGroups(db, scope),
      };
    },
  });
  routes.operator({
    method: 'PATCH',
    url: '/api/v1/agents/:agent_id',
    access: { ...changing, reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      tags,
      summary: 'Put a host into a group, or into none',
      params: HostPath,
      body: AgentChange,
      response: { 200: AgentItem },
    },
    handler: async ({ operator, params, body }) => {
      const { agent_id: agentId } = params;
      const asked = { agentIds: [agentId], group: body.group, by: operator };
      const isThere = isAgentId(agentId) && (await moveHosts(platform, asked)).not_found.length === 0;
      const row = isThere && (await findAgent(db, agentId));
      if (!row) throw noSuch('agent');
      return oneAgentItem(deps, row);
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/group',
    access: changing,
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary: 'Put many hosts into a group, or into none',
      body: MoveHostsRequest,
      response: { 200: MoveHostsAnswer },
    },
    handler: async ({ operator, body: { agent_ids: agentIds, group } }) =>
      moveHosts(platform, { agentIds, group, by: operator }),
  });
}
