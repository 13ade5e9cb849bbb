import { CommandQueued, PollingRequest, RebootRequest, ScanRequest } from '@tidegate/protocol/agents-api';
import { Type } from 'typebox';
import { lockBinding, setPollingInterval } from '../agents/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { type NewCommand, queueCommand } from './queue-command.ts';

const tags = ['hosts'];
const AgentPath = Type.Object({ agent_id: Type.String() });

/** What an operator can ask of a host: queued for its next check-in, answered 202. */
export function mountHostCommands(app: App, deps: { platform: Platform }): void {
  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/scan',
    config: {
      access: {
        kind: 'operator',
        role: 'approver',
        limit: 'admin_operations',
        reach: { of: 'agent', by: 'agent_id' },
        scope: 'hosts',
      },
    },
    schema: {
      tags,
      summary: 'Ask a host to scan',
      params: AgentPath,
      body: ScanRequest,
      response: { 202: CommandQueued },
    },
    async handler(request, reply) {
      const ecosystems = request.body?.ecosystems;
      const command_id = await queueForHost(deps, {
        agentId: request.params.agent_id,
        action: 'scan',
        params: ecosystems ? { ecosystems } : {},
        createdBy: operatorOf(request).username,
      });
      return reply.code(202).send({ command_id });
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/reboot',
    config: {
      access: {
        kind: 'operator',
        role: 'admin',
        limit: 'admin_operations',
        reach: { of: 'agent', by: 'agent_id' },
        scope: 'hosts',
      },
    },
    schema: {
      tags,
      summary: 'Ask a host to reboot',
      params: AgentPath,
      body: RebootRequest,
      response: { 202: CommandQueued },
    },
    async handler(request, reply) {
      const command_id = await queueForHost(deps, {
        agentId: request.params.agent_id,
        action: 'reboot',
        params: {},
        createdBy: operatorOf(request).username,
      });
      return reply.code(202).send({ command_id });
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/polling',
    config: {
      access: {
        kind: 'operator',
        role: 'admin',
        limit: 'admin_operations',
        reach: { of: 'agent', by: 'agent_id' },
        scope: 'hosts',
      },
    },
    schema: {
      tags,
      summary: 'Set how often a host checks in',
      params: AgentPath,
      body: PollingRequest,
      response: { 202: CommandQueued },
    },
    async handler(request, reply) {
      const { interval_seconds } = request.body;
      const agentId = request.params.agent_id;
      const createdBy = operatorOf(request).username;
      const command = { agentId, action: 'set_polling', params: { interval_seconds }, createdBy } as const;
      const command_id = await queueForHost(deps, command, (tx) =>
        setPollingInterval(tx, { agentId, seconds: interval_seconds }),
      );
      return reply.code(202).send({ command_id });
    },
  });
}

async function queueForHost(
  { platform }: { platform: Platform },
  command: NewCommand,
  before?: (tx: Tx) => Promise<void>,
): Promise<string> {
  const { agentId } = command;
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    const agent = isAgentId(agentId) ? await lockBinding(tx, { engine, agentId }) : null;
    if (!agent || agent.status === 'deleted') {
      throw new Refusal('not_found', { detail: 'There is no such agent.' });
    }
    if (agent.status === 'revoked') {
      throw new Refusal('conflict', { detail: 'The agent is revoked: no command can reach it.' });
    }
    await before?.(tx);
    return queueCommand(tx, platform, command);
  });
}
