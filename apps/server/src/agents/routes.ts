import {
  AgentFilter,
  AgentItem,
  DismissCloneRequest,
  RebindAnswer,
  RebindRequest,
  RevokeRequest,
} from '@tidegate/protocol/agents-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { rfc3339 } from '../platform/clock.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { dismissClone } from './dismiss-clone.ts';
import { mountGroups } from './group-routes.ts';
import { mountHostCommands, type QueueCommand } from './host-commands.ts';
import { agentItem, CHECK_IN_INTERVAL_SECONDS, ONLINE_INTERVALS } from './presence.ts';
import { rebindMachine } from './rebind-machine.ts';
import { revokeAgent } from './revoke-agent.ts';
import { type AgentListFilter, countAgents, findAgent, listAgents } from './store.ts';

export interface AgentsDeps {
  platform: Platform;
  queueCommand: QueueCommand;
}

const tags = ['hosts'];
const reach = { of: 'agent', by: 'agent_id' } as const;
const lists = { kind: 'operator', role: 'viewer', limit: 'admin_reads', reach: 'scope' } as const;
const reads = { ...lists, reach } as const;
const acts = { kind: 'operator', role: 'admin', limit: 'admin_operations', reach, scope: 'hosts' } as const;
const AgentPath = Type.Object({ agent_id: Type.String() });
const ListQuery = strict({ ...PageQuery, ...AgentFilter });

/** Hosts as operators see and manage them, with the rebind of E2. */
export function mountAgents(app: App, deps: AgentsDeps): void {
  const { platform } = deps;
  app.route({
    method: 'GET',
    url: '/api/v1/agents',
    config: { access: lists },
    schema: {
      tags,
      summary: 'List hosts by name',
      querystring: ListQuery,
      response: { 200: pageOf(AgentItem) },
    },
    async handler(request) {
      const { query } = request;
      const limit = pageLimit(query);
      const nowMs = platform.now();
      const filter = filterOf(query, nowMs);
      const scope = operatorOf(request).groups;
      const after = query.cursor === undefined ? null : positionOf(query.cursor);
      const db = platform.database.read;
      const rows = await listAgents(db, { filter, scope, limit: limit + 1, after });
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        items: page.map((row) => agentItem(row, nowMs)),
        next_cursor: last ? encodeCursor([last.hostname, last.id]) : null,
        total: await countAgents(db, { filter, scope }),
      };
    },
  });
  app.route({
    method: 'GET',
    url: '/api/v1/agents/:agent_id',
    config: { access: reads },
    schema: { tags, summary: 'One host', params: AgentPath, response: { 200: AgentItem } },
    async handler({ params }) {
      const row = isAgentId(params.agent_id) && (await findAgent(platform.database.read, params.agent_id));
      if (!row) throw unknownAgent();
      return agentItem(row, platform.now());
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/v1/agents/:agent_id',
    config: { access: acts },
    schema: { tags, summary: 'Delete a host; its machine may enrol anew', params: AgentPath },
    async handler(request, reply) {
      await revokeOr404(platform, request.params.agent_id, {
        act: 'delete',
        reason: null,
        actor: operatorOf(request).username,
      });
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/revoke',
    config: { access: acts },
    schema: {
      tags,
      summary: 'Revoke the credentials of a host; forward only',
      params: AgentPath,
      body: RevokeRequest,
      response: { 200: AgentItem },
    },
    async handler(request) {
      const row = await revokeOr404(platform, request.params.agent_id, {
        act: 'revoke',
        reason: request.body?.reason ?? null,
        actor: operatorOf(request).username,
      });
      return agentItem(row, platform.now());
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/dismiss-clone',
    config: { access: acts },
    schema: {
      tags,
      summary: 'Say that a suspected clone is one machine',
      params: AgentPath,
      body: DismissCloneRequest,
      response: { 200: AgentItem },
    },
    async handler(request) {
      const { agent_id: agentId } = request.params;
      if (!isAgentId(agentId)) throw unknownAgent();
      const actor = operatorOf(request).username;
      const outcome = await dismissClone(platform, { agentId, reason: request.body.reason, actor });
      if (outcome.ok) return agentItem(outcome.agent, platform.now());
      if (outcome.why === 'unknown') throw unknownAgent();
      throw new Refusal('conflict', { detail: 'No clone of the agent is suspected.' });
    },
  });
  app.route({
    method: 'POST',
    url: '/api/admin/agents/:agent_id/rebind-machine-id',
    config: { access: { ...acts, stepUp: true } },
    schema: {
      tags,
      summary: 'Clear the machine binding of a host (E2)',
      params: AgentPath,
      body: RebindRequest,
      response: { 200: RebindAnswer },
    },
    async handler(request) {
      const { agent_id: agentId } = request.params;
      if (!isAgentId(agentId)) throw unknownAgent();
      const actor = operatorOf(request).username;
      const outcome = await rebindMachine(platform, { agentId, reason: request.body.reason, actor });
      if (outcome.ok) {
        return { agent_id: agentId, machine_id: null, rebind_at: rfc3339(outcome.atMs) };
      }
      if (outcome.why === 'unknown') throw unknownAgent();
      throw new Refusal('conflict', { detail: 'The agent is revoked: its host has to enrol again.' });
    },
  });
  mountGroups(app, deps);
  mountHostCommands(app, deps);
}

function unknownAgent(): Refusal {
  return new Refusal('not_found', { detail: 'There is no such agent.' });
}

async function revokeOr404(
  platform: Platform,
  agentId: string,
  act: { act: 'revoke' | 'delete'; reason: string | null; actor: string },
) {
  const row = isAgentId(agentId) && (await revokeAgent(platform, { agentId, ...act }));
  if (!row) throw unknownAgent();
  return row;
}

function filterOf(
  query: {
    q?: string;
    status?: AgentListFilter['status'];
    os?: string;
    online?: 'true' | 'false';
    clone_suspected?: 'true' | 'false';
    group?: string;
  },
  nowMs: number,
): AgentListFilter {
  return {
    q: query.q,
    status: query.status,
    os: query.os,
    online: query.online === undefined ? undefined : query.online === 'true',
    cloneSuspected: query.clone_suspected === undefined ? undefined : query.clone_suspected === 'true',
    group: query.group,
    nowMs,
    onlineIntervals: ONLINE_INTERVALS,
    defaultIntervalSeconds: CHECK_IN_INTERVAL_SECONDS,
  };
}

function positionOf(cursor: string): { hostname: string; id: string } {
  const [hostname, id] = decodeCursor(cursor, 2);
  // A NUL would be an error of PostgreSQL: no text column can hold it.
  return { hostname: String(hostname).replaceAll('\0', ''), id: String(id).replaceAll('\0', '') };
}
