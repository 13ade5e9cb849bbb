import { INVENTORY_MAX_BYTES, InventoryAnswer, InventoryReport } from '@tidegate/protocol/agent-api';
import { Problem } from '@tidegate/protocol/problems';
import { Ecosystem, strict, Uuid } from '@tidegate/protocol/scalars';
import { ownAgent } from '../agents/own-agent.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { App } from '../platform/http/server.ts';
import { compileValidator } from '../platform/http/validate.ts';
import { mountInstalled } from './installed-routes.ts';
import { type TakeDeps, takeReport } from './take-report.ts';

/** The reports of agents: what is installed, what could be updated, and with which plan; and what operators read of them. */
export function mountInventory(app: App, deps: TakeDeps): void {
  app.route({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/inventory/:ecosystem',
    bodyLimit: INVENTORY_MAX_BYTES,
    config: {
      access: { kind: 'agent', limit: 'agent_reports' },
      bodyMaxBytes: INVENTORY_MAX_BYTES,
      parseLater: true,
    },
    schema: {
      summary: 'What is installed and what could be updated, of one ecosystem',
      tags: ['agents'],
      params: strict({ agent_id: Uuid, ecosystem: Ecosystem }),
      body: InventoryReport,
      response: { 200: InventoryAnswer, 400: Problem, 409: Problem, 413: Problem, 503: Problem },
    },
    // The body is hashed first, and parsed only where it is not the one that is stored.
    validatorCompiler: (route) => (route.httpPart === 'body' ? () => true : compileValidator(route)),
    handler: async (request) => {
      const { agentId } = ownAgent(request, request.params.agent_id);
      const bytes = request.rawBody;
      if (!bytes) throw new Refusal('invalid_request', { detail: 'The body is missing.' });
      // It may be handed to another thread: nobody reads it here again.
      request.rawBody = null;
      return takeReport(deps, { agentId, ecosystem: request.params.ecosystem, bytes });
    },
  });
  mountInstalled(app, deps);
}
