import { HostWithheld } from '@tidegate/protocol/holds-api';
import { isAgentId } from '../platform/http/identities.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { readWithheld } from './read-withheld.ts';

/** What keeps a host as it is: holds, its own, and blackouts. */
export function mountWithheld(routes: Routes, { database, now }: Pick<Platform, 'database' | 'now'>): void {
  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/withheld',
    access: { role: 'viewer', limit: 'admin_reads', reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      summary: 'What holds, the own holds of a host, and a blackout keep back of its updates now',
      tags: ['hosts'],
      params: HostPath,
      response: { 200: HostWithheld },
    },
    handler: async ({ params: { agent_id: agentId } }) => {
      const answer = isAgentId(agentId) ? await readWithheld(database.read, { agentId, nowMs: now() }) : null;
      if (answer === null) throw noSuch('agent');
      return answer;
    },
  });
}
