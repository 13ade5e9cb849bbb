import { CountersignAnswer, CountersignRequest } from '@tidegate/protocol/approvals-api';

import { IdPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { countersignApproval } from './countersign.ts';

/** Adds signatures to an approval, for hosts whose policy demands more than the server's. */
export function mountCountersign(routes: Routes, { platform }: { platform: Platform }): void {
  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/:id/countersign',
    access: { role: 'approver', limit: 'admin_operations', reach: { of: 'update', by: 'id' } },
    schema: {
      summary: 'Add a signature to the approval of an update',
      tags: ['approvals'],
      params: IdPath,
      body: CountersignRequest,
      response: { 200: CountersignAnswer },
      refuses: ['conflict'],
    },
    handler: async ({ operator: { username: operator }, params, body }) => {
      const { id } = params;
      const outcome = await countersignApproval(platform, {
        updateId: id,
        operator,
        signature: body,
      });
      switch (outcome.kind) {
        case 'signed':
          return { update_id: id, token: outcome.token };
        case 'not_found':
          throw noSuch('update');
        case 'conflict':
          throw new Refusal('conflict', { detail: 'This update has no approval that could be signed.' });
        case 'full':
          throw new Refusal('conflict', { detail: 'This approval takes no more signatures.' });
      }
    },
  });
}
