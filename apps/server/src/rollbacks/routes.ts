import { RollbackAnswer, RollbackRequest } from '@tidegate/protocol/rollbacks';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { requestRollbacks } from './request-rollbacks.ts';

/** Rollbacks of installations, for operators. */
export function mountRollbacks(
  routes: Routes,
  { platform }: { platform: Pick<Platform, 'database' | 'newId' | 'now'> },
): void {
  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/rollback',
    access: { role: 'approver', limit: 'approvals', reach: 'scope' },
    schema: {
      summary: 'Undo installations: take packages back to the versions before',
      description:
        'Each becomes an update of its own, judged and approved like any other: a vulnerable old version needs an override.',
      tags: ['updates'],
      body: RollbackRequest,
      response: { 200: RollbackAnswer },
    },
    handler: async ({ operator, body }) => {
      const { update_ids: updateIds, installed, reason, dry_run: dryRun = false } = body;
      const of = updateIds ?? installed;
      if (of === undefined || (updateIds && installed))
        throw new Refusal('invalid_request', { detail: 'A rollback names either update_ids or installed.' });
      if (reason === undefined && !dryRun)
        throw new Refusal('invalid_request', { detail: 'A rollback needs a reason.' });
      const { username, groups: scope } = operator;
      const by = { operator: username, actor: username, scope };
      return requestRollbacks(platform, { of, reason: reason ?? '', dryRun, ...by });
    },
  });
}
