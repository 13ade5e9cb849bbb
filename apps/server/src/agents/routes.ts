import {
  AGENT_SORT_DEFAULT,
  AgentFilter,
  AgentItem,
  AgentSort,
  DismissCloneRequest,
  type HostFilter,
  RebindAnswer,
  RebindRequest,
  RevokeRequest,
} from '@tidegate/protocol/agents-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { findInstalled, isVersion } from '../installed/find-store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { pageLimit } from '../platform/http/lists.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import {
  pageOfRows,
  positionOf,
  SortedPageQuery,
  sortedPageOf,
  totalOf,
} from '../platform/http/sorted-lists.ts';
import type { Platform } from '../platform/platform.ts';
import { findVulnerable } from '../vulnerability-index/filter-store.ts';
import { dismissClone } from './dismiss-clone.ts';
import type { AgentListFilter, UpToDate } from './filter-store.ts';
import { mountGroups } from './group-routes.ts';
import { agentOrder, listAgents } from './list-store.ts';
import { agentItems, type ItemDeps, oneAgentItem } from './presence.ts';
import { rebindMachine } from './rebind-machine.ts';
import { mountRestarts } from './restart-routes.ts';
import { revokeAgent } from './revoke-agent.ts';
import { findAgent } from './store.ts';
import { mountTags } from './tag-routes.ts';
import { mountTimeliness } from './timeliness-routes.ts';

export interface AgentsDeps extends ItemDeps {
  platform: Platform;
  /** Which hosts are up to date but for what holds keep back. */
  upToDate(): Promise<UpToDate['is']>;
}

const tags = ['hosts'];
const lists: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };
const reads: OperatorAccess = { ...lists, reach: { of: 'agent', by: 'agent_id' } };
const acts: OperatorAccess = { ...reads, role: 'admin', limit: 'admin_operations', scope: 'hosts' };
const ListQuery = strict({ ...SortedPageQuery, sort: Type.Optional(AgentSort), ...AgentFilter });

/** Hosts, for operators; includes the rebind of E2. */
export function mountAgents(routes: Routes, deps: AgentsDeps): void {
  const { platform } = deps;
  routes.operator({
    method: 'GET',
    url: '/api/v1/agents',
    access: lists,
    schema: {
      tags,
      summary: 'Hosts, sorted and filtered, page by page',
      querystring: ListQuery,
      response: { 200: sortedPageOf(AgentItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = AGENT_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const nowMs = platform.now();
      const order = agentOrder(sort, nowMs);
      const of = { sort, filter, key: order.parts };
      const selection = { filter: await filterOf(deps, filter), scope: operator.groups, nowMs };
      const list = { ...selection, order, after: positionOf(cursor, of), limit: limit + 1 };
      const { rows, count } = await listAgents(platform.database.read, list);
      const { page, next_cursor } = pageOfRows(rows, { limit, of, positionOf: ({ position }) => position });
      return { items: await agentItems(deps, page), next_cursor, ...totalOf(count) };
    },
  });
  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id',
    access: reads,
    schema: { tags, summary: 'One host', params: HostPath, response: { 200: AgentItem } },
    handler: async ({ params }) => {
      const row = isAgentId(params.agent_id) && (await findAgent(platform.database.read, params.agent_id));
      if (!row) throw noSuch('agent');
      return oneAgentItem(deps, row);
    },
  });
  routes.operator({
    method: 'DELETE',
    url: '/api/v1/agents/:agent_id',
    access: acts,
    schema: { tags, summary: 'Delete a host; its machine may enrol again', params: HostPath },
    handler: async ({ operator, params }) => {
      await revokeOr404(platform, params.agent_id, {
        act: 'delete',
        reason: null,
        actor: operator.username,
      });
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/revoke',
    access: acts,
    schema: {
      tags,
      summary: 'Revoke the credentials of a host permanently',
      params: HostPath,
      body: RevokeRequest,
      response: { 200: AgentItem },
    },
    handler: async ({ operator, params, body }) => {
      const row = await revokeOr404(platform, params.agent_id, {
        act: 'revoke',
        reason: body?.reason ?? null,
        actor: operator.username,
      });
      return oneAgentItem(deps, row);
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/dismiss-clone',
    access: acts,
    schema: {
      tags,
      summary: 'Dismiss the suspicion that a host is cloned',
      params: HostPath,
      body: DismissCloneRequest,
      response: { 200: AgentItem },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const { agent_id: agentId } = params;
      if (!isAgentId(agentId)) throw noSuch('agent');
      const actor = operator.username;
      const outcome = await dismissClone(platform, { agentId, reason: body.reason, actor });
      if (outcome.ok) return oneAgentItem(deps, outcome.agent);
      if (outcome.why === 'unknown') throw noSuch('agent');
      throw new Refusal('conflict', { detail: 'No clone of the agent is suspected.' });
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/admin/agents/:agent_id/rebind-machine-id',
    access: { ...acts, stepUp: true },
    schema: {
      tags,
      summary: 'Clear the machine binding of a host',
      params: HostPath,
      body: RebindRequest,
      response: { 200: RebindAnswer },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const { agent_id: agentId } = params;
      if (!isAgentId(agentId)) throw noSuch('agent');
      const actor = operator.username;
      const outcome = await rebindMachine(platform, { agentId, reason: body.reason, actor });
      if (outcome.ok) {
        return { agent_id: agentId, machine_id: null, rebind_at: rfc3339(outcome.atMs) };
      }
      if (outcome.why === 'unknown') throw noSuch('agent');
      throw new Refusal('conflict', { detail: 'The agent is revoked: its host has to enrol again.' });
    },
  });
  mountGroups(routes, deps);
  mountTags(routes, deps);
  mountRestarts(routes, deps);
  mountTimeliness(routes, deps);
}

async function revokeOr404(
  platform: Platform,
  agentId: string,
  act: { act: 'revoke' | 'delete'; reason: string | null; actor: string },
) {
  const row = isAgentId(agentId) && (await revokeAgent(platform, { agentId, ...act }));
  if (!row) throw noSuch('agent');
  return row;
}

async function filterOf({ platform, upToDate }: AgentsDeps, query: HostFilter): Promise<AgentListFilter> {
  const db = platform.database.read;
  const {
    agent_version,
    online,
    clone_suspected,
    services_restart,
    cve,
    package: name,
    below,
    up_to_date,
    ...filter
  } = query;
  const { ecosystem } = filter;
  if (below !== undefined) {
    if (name === undefined)
      throw notValid(
        [{ path: '/below', message: 'needs package, whose versions are compared' }],
        'querystring',
      );
    if (!isVersion(below, ecosystem))
      throw notValid(
        [{ path: '/below', message: 'is not a version that package managers compare' }],
        'querystring',
      );
  }
  return {
    ...filter,
    // A host that has a package of a package manager has a report of it.
    ecosystem: name === undefined ? ecosystem : undefined,
    agentVersion: agent_version,
    servicesRestart: services_restart,
    online: online === undefined ? undefined : online === 'true',
    cloneSuspected: clone_suspected === undefined ? undefined : clone_suspected === 'true',
    vulnerable: cve === undefined ? undefined : await findVulnerable(db, { name: cve }),
    installed: name === undefined ? undefined : await findInstalled(db, { name, ecosystem, below }),
    upToDate: up_to_date === undefined ? undefined : { wanted: up_to_date === 'true', is: await upToDate() },
  };
}
