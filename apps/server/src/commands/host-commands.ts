import {
  CommandQueued,
  PollingRequest,
  RebootRequest,
  RestartServicesRequest,
  ScanRequest,
} from '@tidegate/protocol/agents-api';
import { RESTART_UNITS_MAX, restartableUnits } from '@tidegate/protocol/reboots';
import { findRestarts, reportOf } from '../agents/restarts-store.ts';
import { lockBinding, setPollingInterval } from '../agents/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { type NewCommand, queueCommand } from './queue-command.ts';

const tags = ['hosts'];
/** How long logged-in users are warned before a reboot. */
const WARN_MINUTES = 5;
const acts: OperatorAccess = {
  role: 'admin',
  limit: 'admin_operations',
  reach: { of: 'agent', by: 'agent_id' },
  scope: 'hosts',
};

/** Commands that operators give a host; queued for its next check-in. */
export function mountHostCommands(routes: Routes, { platform }: { platform: Platform }): void {
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/scan',
    access: { ...acts, role: 'approver' },
    schema: {
      tags,
      summary: 'Ask a host to scan',
      params: HostPath,
      body: ScanRequest,
      response: { 202: CommandQueued },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const ecosystems = body?.ecosystems;
      const command_id = await queueForHost(platform, params.agent_id, (_, queue) =>
        queue({
          action: 'scan',
          params: ecosystems ? { ecosystems } : {},
          createdBy: operator.username,
        }),
      );
      return { command_id };
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/reboot',
    access: acts,
    schema: {
      tags,
      summary: 'Ask a host to reboot',
      params: HostPath,
      body: RebootRequest,
      response: { 202: CommandQueued },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const createdBy = operator.username;
      const { cause = 'ordered by an operator', warn_minutes = WARN_MINUTES } = body ?? {};
      const command_id = await queueForHost(platform, params.agent_id, async (_, queue, { bootId }) => {
        if (bootId === null) throw new Refusal('conflict', { detail: 'The host has not checked in yet.' });
        const order = { boot_id: bootId, warn_minutes, cause };
        return queue({ action: 'reboot', params: order, createdBy });
      });
      return { command_id };
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/restart-services',
    access: acts,
    schema: {
      tags,
      summary: 'Ask a host to restart services that run replaced files',
      params: HostPath,
      body: RestartServicesRequest,
      response: { 202: CommandQueued },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const createdBy = operator.username;
      const command_id = await queueForHost(platform, params.agent_id, async (tx, queue) => {
        const row = await findRestarts(tx, params.agent_id);
        const stale = row ? restartableUnits(reportOf(row).services.stale) : [];
        const units = body?.units ?? stale.slice(0, RESTART_UNITS_MAX);
        const other = units.find((unit) => !stale.includes(unit));
        if (units.length === 0 || other !== undefined) {
          const detail =
            other === undefined
              ? 'The host reports no service that runs replaced files and can be restarted by itself.'
              : `The host does not report ${other} as running replaced files, or it cannot be restarted by itself.`;
          throw new Refusal('conflict', { detail });
        }
        return queue({ action: 'restart_services', params: { units }, createdBy });
      });
      return { command_id };
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/polling',
    access: acts,
    schema: {
      tags,
      summary: 'Set how often a host checks in',
      params: HostPath,
      body: PollingRequest,
      response: { 202: CommandQueued },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const { interval_seconds } = body;
      const agentId = params.agent_id;
      const command_id = await queueForHost(platform, agentId, async (tx, queue) => {
        await setPollingInterval(tx, { agentId, seconds: interval_seconds });
        return queue({
          action: 'set_polling',
          params: { interval_seconds },
          createdBy: operator.username,
        });
      });
      return { command_id };
    },
  });
}

/**
 * Queues a command for a host that can receive one, in a transaction that holds the host: `work` decides and queues.
 * Throws `Refusal`: `not_found` without such a host, `conflict` when it is revoked.
 */
export async function queueForHost(
  platform: Platform,
  agentId: string,
  work: (
    tx: Tx,
    queue: (command: Omit<NewCommand, 'agentId'>) => Promise<string>,
    host: { bootId: string | null },
  ) => Promise<string>,
): Promise<string> {
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    const agent = isAgentId(agentId) ? await lockBinding(tx, { engine, agentId }) : null;
    if (!agent || agent.status === 'deleted') {
      throw noSuch('agent');
    }
    if (agent.status === 'revoked') {
      throw new Refusal('conflict', { detail: 'The agent is revoked: no command can reach it.' });
    }
    return work(tx, (command) => queueCommand(tx, platform, { ...command, agentId }), agent);
  });
}
