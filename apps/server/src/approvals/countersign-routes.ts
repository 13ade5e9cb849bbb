import { CountersignAnswer, CountersignRequest } from '@tidegate/protocol/approvals-api';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { countersignApproval } from './countersign.ts';

/** Beside the server's signature, for hosts whose own policy wants more than that. */
export function mountCountersign(app: App, { platform }: { platform: Platform }): void {
  app.route({
    method: 'POST',
    url: '/api/v1/updates/:id/countersign',
    config: {
      access: {
        kind: 'operator',
        role: 'approver',
        limit: 'admin_operations',
        reach: { of: 'update', by: 'id' },
      },
    },
    schema: {
      summary: 'Add a signature to the approval of an update',
      tags: ['approvals'],
      params: strict({ id: Uuid }),
      body: CountersignRequest,
      response: { 200: CountersignAnswer, 400: Problem, 404: Problem, 409: Problem },
    },
    handler: async (request) => {
      const { id } = request.params;
      const operator = operatorOf(request).username;
      const outcome = await countersignApproval(platform, {
        updateId: id,
        operator,
        signature: request.body,
      });
      switch (outcome.kind) {
        case 'signed':
          return { update_id: id, token: outcome.token };
        case 'not_found':
          throw new Refusal('not_found', { detail: 'There is no such update.' });
        case 'conflict':
          throw new Refusal('conflict', { detail: 'This update has no approval that could be signed.' });
        case 'full':
          throw new Refusal('conflict', { detail: 'This approval takes no more signatures.' });
      }
    },
  });
}
