import { RateLimits as RateLimitsBody, RateLimitsChange } from '@tidegate/protocol/rate-limits-api';
import { rfc3339 } from '../platform/clock.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { wireBudget } from './merge-budgets.ts';
import type { RateLimits } from './rate-limits.ts';

const URL = '/api/v1/admin/rate-limits';
const access: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'fleet' };
const tags = ['rate limits'];

/** E5: rate limits: read, change, reset. */
export function mountRateLimits(routes: Routes, rateLimits: RateLimits): void {
  routes.operator({
    method: 'GET',
    url: URL,
    access,
    schema: { tags, summary: 'Rate limits in force', response: { 200: RateLimitsBody } },
    handler: async () => show(rateLimits),
  });
  routes.operator({
    method: 'PUT',
    url: URL,
    access: { ...access, stepUp: true },
    schema: {
      tags,
      summary: 'Change rate limits; omitted classes keep theirs',
      body: RateLimitsChange,
      response: { 200: RateLimitsBody },
    },
    handler: async ({ operator, body }) => {
      const outcome = await rateLimits.change(body.classes, operator.username);
      if (!outcome.ok) {
        throw notValid(outcome.errors);
      }
      return show(rateLimits);
    },
  });
  routes.operator({
    method: 'POST',
    url: `${URL}/reset`,
    access: { ...access, stepUp: true },
    schema: { tags, summary: 'Reset rate limits to their defaults', response: { 200: RateLimitsBody } },
    handler: async ({ operator }) => {
      await rateLimits.reset(operator.username);
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
      fleet_lock: wireBudget(table.fleet_lock),
    },
    startup_penalty: { active, ends_at: rfc3339(endsAtMs) },
  };
}
