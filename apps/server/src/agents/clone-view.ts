import type { CloneSuspected } from '@tidegate/protocol/agents-api';
import { rfc3339 } from '../platform/clock.ts';
import type { AgentRow } from './store.ts';
import { parseEvidence } from './suspect-clone.ts';

/** A clone suspicion as operators see it, with their options; null when there is none. */
export function cloneSuspected(agent: AgentRow): CloneSuspected | null {
  if (agent.clone_since === null || agent.clone_evidence === null) return null;
  return {
    since: rfc3339(agent.clone_since),
    evidence: parseEvidence(agent.clone_evidence),
    next_steps: [
      {
        act: 'dismiss',
        method: 'POST',
        path: `/api/v1/agents/${agent.id}/dismiss-clone`,
        when: 'It is one machine, restored from a snapshot or using two networks.',
      },
      ...(agent.status === 'active' ? endings(agent.id) : []),
    ],
  };
}

function endings(agentId: string): CloneSuspected['next_steps'] {
  return [
    {
      act: 'rebind',
      method: 'POST',
      path: `/api/admin/agents/${agentId}/rebind-machine-id`,
      when: 'The host moved to another machine, and the agent on the first one is stopped and removed.',
    },
    {
      act: 'revoke',
      method: 'POST',
      path: `/api/v1/agents/${agentId}/revoke`,
      when: 'Both machines are running, or you do not know: the identity ends, and each machine must enrol again.',
    },
  ];
}
