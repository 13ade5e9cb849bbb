import { RateLimits as RateLimitsBody, RateLimitsChange } from '@tidegate/protocol/rate-limits-api';
import { rfc3339 } from '../platform/clock.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import { wireBudget } from './merge-budgets.ts';
import type { RateLimits } from './rate-limits.ts';

const URL = '/api/v1/admin/rate-limits';
const access = { kind: 'operator', role: 'admin', limit: 'admin_operations', reach: 'fleet' } as const;
const tags = ['rate limits'];

/** E5: what is in force, a change of it, and the way back to the defaults. */
export function mountRateLimits(app: App, rateLimits: RateLimits): void {
  app.route({
    method: 'GET',
    url: URL,
    config: { access },
    schema: { tags, summary: 'Rate limits in force (E5)', response: { 200: RateLimitsBody } },
    handler: async () => show(rateLimits),
  });
  app.route({
    method: 'PUT',
    url: URL,
    config: { access: { ...access, stepUp: true } },
    schema: {
      tags,
      summary: 'Change rate limits; what is left out stays (E5)',
      body: RateLimitsChange,
      response: { 200: RateLimitsBody },
    },
    handler: async (request) => {
      const outcome = await rateLimits.change(request.body.classes, operatorOf(request).username);
      if (!outcome.ok) {
        throw new Refusal('invalid_request', { detail: 'The body is not valid.', errors: outcome.errors });
      }
      return show(rateLimits);
    },
  });
  app.route({
    method: 'POST',
    url: `${URL}/reset`,
    config: { access: { ...access, stepUp: true } },
    schema: { tags, summary: 'Back to the default rate limits (E5)', response: { 200: RateLimitsBody } },
    handler: async (request) => {
      await rateLimits.reset(operatorOf(request).username);
      return show(rateLimits);
    },
  });
}

function show(rateLimits: RateLimits): RateLimitsBody {
  const table = rateLimits.table();
  const { active, endsAtMs } = rateLimits.limiter.penalty();
  return {
    classes: {
      agent_registration: wireBudget(table.agent_registration),
      agent_renewal: wireBudget(table.agent_renewal),
      agent_checkin: wireBudget(table.agent_checkin),
      agent_reports: wireBudget(table.agent_reports),
      admin_operations: wireBudget(table.admin_operations),
      approvals: wireBudget(table.approvals),
      admin_reads: wireBudget(table.admin_reads),
      public_access: wireBudget(table.public_access),
      login: wireBudget(table.login),
      client_errors: wireBudget(table.client_errors),
    },
    startup_penalty: { active, ends_at: rfc3339(endsAtMs) },
  };
}
