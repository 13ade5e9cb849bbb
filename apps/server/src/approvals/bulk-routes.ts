import { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import { BulkProgress } from '@tidegate/protocol/bulk-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import type { OperatorAccess, OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { answerOf, progressOf, readRun } from './bulk-progress.ts';

// Operators see only their own requests.
const access: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'none' };
const tags = ['approvals'];
const params = strict({ progress_id: Uuid });

/** Progress of the caller's bulk requests; answers are kept for an hour. */
export function mountBulkProgress(routes: Routes, platform: Pick<Platform, 'database' | 'now'>): void {
  async function runOf({ operatorId: operator_id }: OperatorCaller, progress_id: string) {
    const row = await readRun(platform, { operator_id, progress_id });
    if (!row)
      throw new Refusal('not_found', { detail: 'You have sent no such request within the last hour.' });
    return row;
  }

  routes.operator({
    method: 'GET',
    url: '/api/v1/bulk/:progress_id',
    access,
    schema: {
      summary: 'Progress of a bulk request',
      tags,
      params,
      response: { 200: BulkProgress },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) =>
      progressOf(await runOf(operator, params.progress_id), platform.now()),
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/bulk/:progress_id/result',
    access,
    schema: {
      summary: 'The answer of a bulk request that has ended, even if its client disconnected',
      tags,
      params,
      response: { 200: BulkApproveAnswer },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator, params }) => {
      const row = await runOf(operator, params.progress_id);
      const answer = answerOf(row);
      if (answer) return answer;
      const { state, done, total } = progressOf(row, platform.now());
      const detail =
        state === 'failed'
          ? `The server stopped in the middle of the request, after ${done} of ${total} updates.`
          : 'The request has not ended yet.';
      throw new Refusal('conflict', { detail });
    },
  });
}
