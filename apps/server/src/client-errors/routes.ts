import {
  ClientErrorAnswer,
  ClientErrorReport,
  type ClientErrorType,
} from '@tidegate/protocol/client-errors-api';
import type { Severity } from '@tidegate/protocol/event-types';
import type { Static } from 'typebox';
import { charge } from '../outsiders/charge.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import type { Routes } from '../platform/http/routes.ts';
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

const ACCEPTED: Static<typeof ClientErrorAnswer> = { accepted: true };

export interface ClientErrorsDeps {
  platform: Platform;
}

/**
 * E7: errors of the console, which anyone may report. Reports are small, strict, rate-limited, stored apart from the
 * event chain and only shown as text. Reports over the daily budget are counted and dropped, with the same answer.
 */
export function mountClientErrors(routes: Routes, { platform }: ClientErrorsDeps): void {
  routes.anyone({
    method: 'POST',
    url: '/logs/client-error',
    access: { limit: 'client_errors' },
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags: ['service'],
      summary: 'Report an error of the console',
      body: ClientErrorReport,
      response: { 202: ClientErrorAnswer },
    },
    handler: async ({ operator, body, request }) => {
      const content = JSON.stringify(body);
      const bytes = Buffer.byteLength(content);
      const row = {
        ...{ id: platform.newId(), created_at: platform.now(), severity: SEVERITY[body.error_type] },
        ...{ actor: operator?.username ?? null, content, bytes },
      };
      const subject = { key: operator ? callerKey(operator) : addressKey(request) };
      await platform.database.transact(async (tx) => {
        const isWithin = await charge(tx, platform, { kind: 'client_errors', subject, rows: 1, bytes });
        if (isWithin) await insertClientError(tx, row);
      });
      return ACCEPTED;
    },
  });
}
