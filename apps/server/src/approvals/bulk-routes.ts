import { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import { BulkProgress } from '@tidegate/protocol/bulk-api';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { answerOf, progressOf, readRun } from './bulk-progress.ts';

const config = {
  // The caller's own requests: nobody else's are there.
  access: { kind: 'operator', role: 'viewer', limit: 'admin_reads', reach: 'none' },
} as const;
const tags = ['approvals'];
const params = strict({ progress_id: Uuid });

/** How far one's own bulk requests are, and their answers for an hour. */
export function mountBulkProgress(app: App, platform: Pick<Platform, 'database' | 'now'>): void {
  async function runOf(request: FastifyRequest<{ Params: { progress_id: string } }>) {
    const { operatorId: operator_id } = operatorOf(request);
    const row = await readRun(platform, { operator_id, progress_id: request.params.progress_id });
    if (!row)
      throw new Refusal('not_found', { detail: 'You have sent no such request within the last hour.' });
    return row;
  }

  app.route({
    method: 'GET',
    url: '/api/v1/bulk/:progress_id',
    config,
    schema: {
      summary: 'How far a bulk request is',
      tags,
      params,
      response: { 200: BulkProgress, 404: Problem },
    },
    handler: async (request) => progressOf(await runOf(request), platform.now()),
  });

  app.route({
    method: 'GET',
    url: '/api/v1/bulk/:progress_id/result',
    config,
    schema: {
      summary: 'The answer of a bulk request that has ended, whoever went away meanwhile',
      tags,
      params,
      response: { 200: BulkApproveAnswer, 404: Problem, 409: Problem },
    },
    handler: async (request) => {
      const row = await runOf(request);
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
