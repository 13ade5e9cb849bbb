import { CommandQueued } from '@tidegate/protocol/agents-api';
import { RepairRequest } from '@tidegate/protocol/inventory-api';
import { HostPath } from '../platform/http/paths.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { orderRepair } from './order-repair.ts';

/** Repairs of packages that a host has not finished, for operators. */
export function mountRepairs(routes: Routes, { platform }: { platform: Platform }): void {
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/repair',
    access: {
      ...{ role: 'approver', limit: 'admin_operations', scope: null, stepUp: true },
      reach: { of: 'agent', by: 'agent_id' },
    },
    schema: {
      summary: 'Finish the packages that dpkg has left unfinished on a host',
      description:
        'Runs their scripts as root, and no others: `repair_sha256` is that of the report which lists them.',
      tags: ['hosts'],
      params: HostPath,
      body: RepairRequest,
      response: { 202: CommandQueued },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => ({
      command_id: await orderRepair(platform, {
        ...{ agentId: params.agent_id, sha256: body.repair_sha256, by: operator.username },
      }),
    }),
  });
}
