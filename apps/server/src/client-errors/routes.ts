import {
  ClientErrorAnswer,
  ClientErrorReport,
  type ClientErrorType,
} from '@tidegate/protocol/client-errors-api';
import type { Severity } from '@tidegate/protocol/event-types';
import { appendEvent } from '../events/append-event.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import type { App } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';

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

/** E7: an open sink for the console's errors, so small, strict and limited; what it takes is only ever shown as text. */
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
