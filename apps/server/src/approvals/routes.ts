import {
  ApproveAnswer,
  ApproveRequest,
  AwaitingPlanAnswer,
  BulkApproveAnswer,
  BulkApproveRequest,
  BulkPreview,
  GateReport,
  RejectRequest,
  ReopenRequest,
  StateAnswer,
} from '@tidegate/protocol/approvals-api';
import { stopWords } from '@tidegate/protocol/code-words';

import type { OperatorAccess } from '../platform/http/access.ts';
import { BULK_BODY_MAX_BYTES, REASON_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { demandFreshFactor } from '../platform/http/step-up.ts';
import { demandOverride } from '../platform/http/token-scopes.ts';
import { type ApproveOutcome, approveUpdate } from './approve-update.ts';
import { operatorAsks } from './asker.ts';
import { bulkApprove } from './bulk-approve.ts';
import { createProgress, NO_PROGRESS } from './bulk-progress.ts';
import { mountBulkProgress } from './bulk-routes.ts';
import { type ChangeOutcome, rejectUpdate, reopenUpdate } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';
import { gateReport, warningsOf } from './gate-report.ts';
import { type PreviewOutcome, previewMany } from './preview-many.ts';
import { previewUpdate } from './preview-update.ts';

const approving: OperatorAccess = { role: 'approver', limit: 'approvals', reach: { of: 'update', by: 'id' } };
const approvingMany: OperatorAccess = { ...approving, reach: 'scope' };
const acting: OperatorAccess = { ...approving, limit: 'admin_operations' };
const tags = ['approvals'];
/** Retry-After for a verdict that is still pending, in seconds. */
const PENDING_RETRY_SECONDS = 5;
/** Longest delay between a verdict and its installation, in milliseconds. */
const NOT_BEFORE_MAX_MS = 365 * 24 * 3_600_000;

/** E3, E4 and the other decisions of operators about updates. */
export function mountApprovals(routes: Routes, deps: ApprovalDeps): void {
  mountBulkProgress(routes, deps.platform);
  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/:id/approve',
    access: approving,
    bodyMaxBytes: REASON_BODY_MAX_BYTES,
    schema: {
      summary: 'Approve one update',
      tags,
      params: IdPath,
      body: ApproveRequest,
      response: { 200: ApproveAnswer, 202: AwaitingPlanAnswer },
      refuses: [
        'approval_blocked',
        'conflict',
        'override_reason_required',
        'plan_required',
        'step_up_required',
        'verdict_pending',
      ],
    },
    handler: async ({ operator, params: { id }, body, reply }) => {
      if (body?.override_supply_chain) demandOverride(operator);
      // An override passes what the gate stops, so an open session alone is not enough.
      if (body?.override_supply_chain) demandFreshFactor(operator);
      const outcome = await approveUpdate(deps, {
        updateId: id,
        operator: operator.username,
        override: body?.override_supply_chain ?? false,
        overrideReason: body?.override_reason ?? null,
        notBeforeMs: notBeforeOf(body?.not_before, deps.platform.now()),
      });
      if (outcome.kind === 'approved') {
        const { token, warnings } = outcome;
        return { update_id: id, state: 'approved' as const, token, warnings: warningsOf(warnings) };
      }
      if (outcome.kind === 'awaiting_plan') {
        reply.code(202);
        return { update_id: id, state: 'awaiting_plan' as const };
      }
      throw refusalOf(outcome);
    },
  });

  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/approve',
    access: approvingMany,
    bodyMaxBytes: BULK_BODY_MAX_BYTES,
    schema: {
      summary: 'Approve several updates; takes no override',
      tags,
      body: BulkApproveRequest,
      response: { 200: BulkApproveAnswer },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const { groups: scope, operatorId } = operator;
      const { progress_id } = body;
      const progress =
        progress_id === undefined
          ? NO_PROGRESS
          : createProgress(deps.platform, { operator_id: operatorId, progress_id });
      const outcome = await bulkApprove(deps, {
        request: body,
        asker: operatorAsks({ operator: operator.username, scope }),
        progress,
      });
      switch (outcome.kind) {
        case 'done':
          return outcome.answer;
        case 'progress_id_used':
          throw new Refusal('conflict', { detail: 'You have used this progress_id within the last hour.' });
        case 'count_differs':
        case 'too_many':
          throw refusalOfMany(outcome);
      }
    },
  });

  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/preview',
    access: { ...acting, reach: 'scope' },
    bodyMaxBytes: BULK_BODY_MAX_BYTES,
    schema: {
      summary: 'What an approval of several updates would do now; approves nothing',
      tags,
      body: BulkApproveRequest,
      response: { 200: BulkPreview },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const outcome = await previewMany(deps, {
        request: body,
        asker: operatorAsks({ operator: operator.username, scope: operator.groups }),
      });
      if (outcome.kind === 'preview') return outcome.preview;
      throw refusalOfMany(outcome);
    },
  });

  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/:id/preview',
    access: acting,
    schema: {
      summary: "The gate's verdict, without minting an approval",
      tags,
      params: IdPath,
      response: { 200: GateReport },
      refuses: ['verdict_pending'],
    },
    handler: async ({ params }) => {
      const outcome = await previewUpdate(deps, params.id);
      if (outcome.kind === 'report') return outcome.report;
      throw refusalOf(outcome);
    },
  });

  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/:id/reject',
    access: acting,
    bodyMaxBytes: REASON_BODY_MAX_BYTES,
    schema: {
      summary: 'Reject an update',
      tags,
      params: IdPath,
      body: RejectRequest,
      response: { 200: StateAnswer },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const { id } = params;
      const change = {
        updateId: id,
        operator: operator.username,
        reason: body?.reason ?? null,
      };
      demandChanged(await rejectUpdate(deps, change));
      return { update_id: id, state: 'rejected' as const };
    },
  });

  routes.operator({
    method: 'POST',
    url: '/api/v1/updates/:id/reopen',
    access: acting,
    bodyMaxBytes: REASON_BODY_MAX_BYTES,
    schema: {
      summary: 'Set an update back to pending; withdraws its approval',
      tags,
      params: IdPath,
      body: ReopenRequest,
      response: { 200: StateAnswer },
      refuses: ['conflict'],
    },
    handler: async ({ operator, params, body }) => {
      const { id } = params;
      const change = {
        updateId: id,
        operator: operator.username,
        reason: body?.reason ?? null,
      };
      demandChanged(await reopenUpdate(deps, change));
      return { update_id: id, state: 'pending' as const };
    },
  });
}

/** Null: install at once. */
function notBeforeOf(timestamp: string | undefined, nowMs: number): number | null {
  if (timestamp === undefined) return null;
  const ms = Date.parse(timestamp);
  if (ms <= nowMs + NOT_BEFORE_MAX_MS) return ms;
  throw notValid([{ path: '/not_before', message: 'must be a time in the next 365 days' }]);
}

function refusalOf(outcome: Exclude<ApproveOutcome, { kind: 'approved' | 'awaiting_plan' }>): Refusal {
  switch (outcome.kind) {
    case 'blocked': {
      const { loaded, facts, verdict } = outcome;
      return new Refusal('approval_blocked', {
        detail: `The gate stopped this update: ${stopWords(verdict.stop)}.`,
        extra: gateReport(loaded, facts, verdict),
      });
    }
    case 'not_found':
      return noSuch('update');
    case 'override_reason_required':
      return new Refusal('override_reason_required', {
        detail: 'An override needs a reason.',
        errors: [{ path: '/override_reason', message: 'is required when override_supply_chain is true' }],
      });
    case 'plan_required':
      return new Refusal('plan_required', {
        detail: 'The plan of this update is not known yet: approve without an override first.',
      });
    case 'verdict_pending':
      return new Refusal('verdict_pending', {
        detail: 'What this update would install is still being checked. Try again in a moment.',
        retryAfterSeconds: PENDING_RETRY_SECONDS,
      });
    case 'too_large':
      return new Refusal('conflict', { detail: 'The plan of this update is too large for one approval.' });
    case 'conflict':
      return new Refusal('conflict', { detail: `The update cannot be approved: it is ${outcome.state}.` });
    case 'other_version':
      return new Refusal('conflict', {
        detail: `Version ${outcome.version} of this package is approved for this host. Withdraw that approval first.`,
      });
  }
}

function demandChanged(outcome: ChangeOutcome): void {
  switch (outcome.kind) {
    case 'changed':
      return;
    case 'not_found':
      throw noSuch('update');
    case 'conflict':
      throw new Refusal('conflict', {
        detail: `An update that is ${outcome.state} cannot be changed this way.`,
      });
  }
}

function refusalOfMany({ kind, count }: Exclude<PreviewOutcome, { kind: 'preview' }>): Refusal {
  if (kind === 'too_many') {
    const detail = `The filter matches ${count} updates, more than one request may approve.`;
    return new Refusal('invalid_request', { detail });
  }
  const detail = `The filter now matches ${count} updates: review them before you approve.`;
  return new Refusal('conflict', { detail, extra: { count } });
}
