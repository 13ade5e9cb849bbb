import { HostFaults } from '@tidegate/protocol/host-faults-api';
import type { Config } from '../config.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { readFaults } from './read-faults.ts';

export interface HostFaultsDeps {
  platform: Pick<Platform, 'database' | 'now'>;
  config: Pick<Config, 'minAgentVersion'>;
}

/** What is wrong with a host, and what mends it. */
export function mountHostFaults(
  routes: Routes,
  { platform: { database, now }, config: { minAgentVersion } }: HostFaultsDeps,
): void {
  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/faults',
    access: { role: 'viewer', limit: 'admin_reads', reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      summary: 'What is wrong with a host and what mends it, the most urgent first',
      tags: ['hosts'],
      params: HostPath,
      response: { 200: HostFaults },
    },
    handler: async ({ params: { agent_id: agentId } }) => {
      const facts = { agentId, nowMs: now(), minAgentVersion };
      const answer = isAgentId(agentId) ? await readFaults(database.read, facts) : null;
      if (answer === null) throw noSuch('agent');
      return answer;
    },
  });
}
