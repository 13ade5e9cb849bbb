import {
  ClientErrorAnswer,
  ClientErrorReport,
  type ClientErrorType,
} from '@tidegate/protocol/client-errors-api';
import type { Severity } from '@tidegate/protocol/event-types';
import type { FastifyRequest } from 'fastify';
import { appendEvent } from '../events/append-event.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import type { App } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { addressKey, callerKey } from '../rate-limits/keys.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';

const REPORT_MAX_BYTES = 65_536;

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
  limiter: Limiter;
  identify: (request: FastifyRequest) => Promise<OperatorCaller | null>;
}

/** E7: an open sink for the console's errors, so small, strict and limited; what it takes is only ever shown as text. */
export function mountClientErrors(app: App, { platform, limiter, identify }: ClientErrorsDeps): void {
  app.route({
    method: 'POST',
    url: '/logs/client-error',
    config: { access: { kind: 'own', limit: null }, bodyMaxBytes: REPORT_MAX_BYTES },
    bodyLimit: REPORT_MAX_BYTES,
    schema: {
      tags: ['service'],
      summary: 'Report an error of the console (E7)',
      body: ClientErrorReport,
      response: { 202: ClientErrorAnswer },
    },
    // Limited before the body is read.
    onRequest: async (request) => {
      request.operatorCaller = await identify(request);
      const key = request.operatorCaller ? callerKey(request.operatorCaller) : addressKey(request);
      enforceLimit(limiter, { limitClass: 'client_errors', key });
    },
    handler: async (request, reply) => {
      const { error_type } = request.body;
      await platform.database.transact((tx) =>
        appendEvent(tx, platform, {
          kind: 'system',
          type: 'client_error',
          severity: SEVERITY[error_type],
          component: 'console',
          actor: request.operatorCaller?.username ?? null,
          content: request.body,
        }),
      );
      return reply.code(202).send({ accepted: true });
    },
  });
}
