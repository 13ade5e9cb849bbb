import {
  ClientErrorAnswer,
  ClientErrorReport,
  type ClientErrorType,
} from '@tidegate/protocol/client-errors-api';
import type { Severity } from '@tidegate/protocol/event-types';
import type { FastifyRequest } from 'fastify';
import { charge } from '../outsiders/charge.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import type { App } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { addressKey, callerKey } from '../rate-limits/keys.ts';
import { insertClientError } from './store.ts';

const SEVERITY: Readonly<Record<ClientErrorType, Severity>> = {
  javascript_error: 'error',
  api_error: 'error',
  ui_error: 'error',
  validation_error: 'warning',
  client_debug: 'info',
  client_trace: 'info',
};

export interface ClientErrorsDeps {
  platform: Platform;
}

/**
 * E7: an open sink for the console's errors, so small, strict, limited and kept apart from the chain of events; what it
 * takes is only ever shown as text. Past the budget of a day a report is counted and dropped, with the same answer.
 */
export function mountClientErrors(app: App, { platform }: ClientErrorsDeps): void {
  app.route({
    method: 'POST',
    url: '/logs/client-error',
    config: { access: { kind: 'anyone', limit: 'client_errors' }, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      tags: ['service'],
      summary: 'Report an error of the console (E7)',
      body: ClientErrorReport,
      response: { 202: ClientErrorAnswer },
    },
    handler: async (request, reply) => {
      const { error_type } = request.body;
      const content = JSON.stringify(request.body);
      const bytes = Buffer.byteLength(content);
      const row = {
        ...{ id: platform.newId(), created_at: platform.now(), severity: SEVERITY[error_type] },
        ...{ actor: request.operatorCaller?.username ?? null, content, bytes },
      };
      const subject = { key: keyOf(request) };
      await platform.database.transact(async (tx) => {
        const isWithin = await charge(tx, platform, { kind: 'client_errors', subject, rows: 1, bytes });
        if (isWithin) await insertClientError(tx, row);
      });
      return reply.code(202).send({ accepted: true });
    },
  });
}

/** The operator where one is logged in, else the address. */
function keyOf(request: FastifyRequest): string {
  return request.operatorCaller ? callerKey(request.operatorCaller) : addressKey(request);
}
