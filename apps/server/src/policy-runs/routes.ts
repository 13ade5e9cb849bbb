import { PolicyBacktest } from '@tidegate/protocol/backtest-api';
import {
  PolicyChange,
  PolicyDetail,
  PolicyItem,
  PolicyPreview,
  PolicyRequest,
} from '@tidegate/protocol/policies-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { findOperator } from '../operators/store.ts';
import type { OperatorAccess, OperatorCaller } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { followUpFault } from '../policies/author-rules.ts';
import { revokePolicy } from '../policies/end-policies.ts';
import { payloadOf, policyDetail, policyItem } from '../policies/policy-view.ts';
import {
  changePolicy,
  draftFault,
  type Fault,
  type Publishing,
  policyFault,
  publishPolicy,
} from '../policies/publish-policy.ts';
import { countPolicies, listPolicies, runsOf, versionsOf } from '../policies/store.ts';
import { backtestPolicy } from './backtest-policy.ts';
import { previewPolicy } from './preview-policy.ts';

const URL = '/api/v1/policies';
const tags = ['policies'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
/** A policy approves for up to a year on many hosts, so neither an open session nor an API token is enough. */
const change: OperatorAccess = {
  ...{ role: 'approver', limit: 'admin_operations', reach: 'fleet', stepUp: true, scope: null },
};
/** Ending one only takes rights away: it must never wait for a factor. */
const end: OperatorAccess = { role: 'approver', limit: 'admin_operations', reach: 'fleet' };
/** Judges thousands of updates, and writes nothing. */
const preview: OperatorAccess = { role: 'viewer', limit: 'approvals', reach: 'fleet', scope: 'read' };

/** Of whoever may publish it. */
const draft: OperatorAccess = { role: 'approver', limit: 'approvals', reach: 'fleet' };

const { scope, terms, windows, reboot, restart_services, rings } = PolicyRequest.properties;
const Draft = strict({ scope, terms, windows, reboot, restart_services, rings });

/** Policies: standing approvals that ask in their author's name. */
export function mountPolicies(routes: Routes, deps: ApprovalDeps): void {
  const { platform, keyRing } = deps;
  const { database } = platform;

  async function detailOf(id: string): Promise<PolicyDetail> {
    const [newest, ...older] = await versionsOf(database.read, id);
    if (!newest) throw noSuch('policy');
    const run = (await runsOf(database.read, [id])).get(id) ?? null;
    const author = await findOperator(database.read, newest.author_id);
    return policyDetail([newest, ...older], { run, nowMs: platform.now(), author });
  }

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Policies in their newest version, newest first, with those that have ended',
      tags,
      querystring: strict(PageQuery),
      response: { 200: pageOf(PolicyItem) },
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const rows = await listPolicies(database.read, { limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ policy_id: id }) => id });
      const runs = await runsOf(
        database.read,
        page.map(({ policy_id: id }) => id),
      );
      const items = page.map((row) =>
        policyItem(row, { run: runs.get(row.policy_id) ?? null, nowMs: platform.now() }),
      );
      return { items, next_cursor, total: await countPolicies(database.read) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One policy with the envelope that the server signed, and its versions',
      tags,
      params: IdPath,
      response: { 200: PolicyDetail },
      refuses: ['not_found'],
    },
    handler: ({ params }) => detailOf(params.id),
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Publish a policy, which approves in the name of the caller until it ends',
      tags,
      body: PolicyRequest,
      response: { 201: PolicyDetail },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      refuse(followUpFault(body, operator) ?? (await policyFault(database.read, body, platform.now())));
      const row = await database.transact((tx) =>
        publishPolicy(tx, { platform, keyRing }, { request: body, ...byCaller(operator) }),
      );
      return detailOf(row.policy_id);
    },
  });

  routes.operator({
    ...{ method: 'PUT', url: `${URL}/:id`, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Replace a policy by a new version; one that has ended comes into force again',
      tags,
      params: IdPath,
      body: PolicyChange,
      response: { 200: PolicyDetail },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator, params, body }) => {
      const { replaces, ...request } = body;
      refuse(followUpFault(request, operator) ?? (await policyFault(database.read, request, platform.now())));
      const row = await database.transact((tx) =>
        changePolicy(
          tx,
          { platform, keyRing },
          { policyId: params.id, request, replaces, ...byCaller(operator) },
        ),
      );
      if (!row) throw noSuch('policy');
      return detailOf(row.policy_id);
    },
  });

  routes.operator({
    ...{ method: 'DELETE', url: `${URL}/:id`, access: end },
    schema: {
      summary: 'Revoke a policy. What it has approved keeps its token',
      tags,
      params: IdPath,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const asked = { policyId: params.id, actor: operator.username };
      if (!(await database.transact((tx) => revokePolicy(tx, platform, asked)))) throw noSuch('policy');
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id/preview`, access: preview },
    schema: {
      summary: 'What a policy would do now: its hosts, what it would approve, and what it leaves and why',
      tags,
      params: IdPath,
      response: { 200: PolicyPreview },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const [newest] = await versionsOf(database.read, params.id);
      if (!newest) throw noSuch('policy');
      return previewPolicy(deps, payloadOf(newest));
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id/backtest`, access: preview },
    schema: {
      summary: 'What a policy would have decided in the last 30 days, from the recorded decisions',
      tags,
      params: IdPath,
      response: { 200: PolicyBacktest },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const [newest] = await versionsOf(database.read, params.id);
      if (!newest) throw noSuch('policy');
      return backtestPolicy(deps, payloadOf(newest));
    },
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/backtest`, access: draft, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'What a policy with this scope and these terms would have decided; stores nothing',
      tags,
      body: Draft,
      response: { 200: PolicyBacktest },
    },
    handler: async ({ body }) => {
      refuse(await draftFault(database.read, body));
      return backtestPolicy(deps, body);
    },
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/preview`, access: draft, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'What a policy with this scope and these terms would do now; stores nothing',
      tags,
      body: Draft,
      response: { 200: PolicyPreview },
    },
    handler: async ({ body }) => {
      refuse(await draftFault(database.read, body));
      return previewPolicy(deps, body);
    },
  });
}

function byCaller({ operatorId, username }: OperatorCaller): Pick<Publishing, 'author' | 'actor'> {
  return { author: { id: operatorId, username }, actor: username };
}

/** Throws a Refusal where something is wrong with a request of the right form. */
function refuse(fault: Fault | null): void {
  if (fault) throw notValid([fault]);
}
