import { Envelope } from '@tidegate/protocol/documents';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { findLiveApproval } from '../approval-tokens/store.ts';
import { divergencesOfApproval } from '../commands/diverging-approval.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { type AgentStateDeps, signAgentState } from './agent-state.ts';

export interface AgentApprovalsDeps {
  platform: Platform;
  keyRing: AgentStateDeps['keyRing'];
}

/** What an agent fetches before it installs: the approval that its command names, and the signed state. */
export function mountAgentApprovals(routes: Routes, { platform, keyRing }: AgentApprovalsDeps): void {
  routes.agent({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/state',
    access: { limit: 'agent_checkin', old: true },
    schema: {
      summary: 'The signed state before an install: which approvals of the agent were withdrawn',
      tags: ['agents'],
      params: strict({ agent_id: Uuid }),
      response: { 200: Envelope },
    },
    handler: async ({ agent: { agentId } }) => {
      return signAgentState({ platform, keyRing }, agentId);
    },
  });

  routes.agent({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/approvals/:token_id',
    // `old`: an agent below the minimum version fetches the approval of its own update.
    access: { limit: 'agent_checkin', old: true },
    schema: {
      summary: 'An approval that a command names',
      tags: ['agents'],
      params: strict({ agent_id: Uuid, token_id: Uuid }),
      response: { 200: Envelope },
    },
    handler: async ({ agent: { agentId }, params }) => {
      const tokenId = params.token_id;
      const live = { tokenId, agentId, nowMs: platform.now() };
      const row = await findLiveApproval(platform.database.read, live);
      if (!row) throw noSuch('approval');
      const envelope: unknown = JSON.parse(row.envelope);
      if (!Value.Check(Envelope, envelope)) throw new Error('the stored approval is not an envelope');
      // An artifact has diverged since: the approval is withheld until the sweep voids it.
      const diverging = await divergencesOfApproval(platform.database.read, envelope);
      if (diverging.length > 0) throw noSuch('approval');
      return envelope;
    },
  });
}
