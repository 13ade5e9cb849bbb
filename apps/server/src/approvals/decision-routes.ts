import { ApprovalOfUpdate } from '@tidegate/protocol/approval-record-api';
import { DecisionDetail, DecisionItem } from '@tidegate/protocol/decisions-api';
import { Envelope } from '@tidegate/protocol/documents';
import { strict } from '@tidegate/protocol/scalars';
import type { OperatorAccess } from '../platform/http/access.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { findUpdate } from '../updates/store.ts';
import { approvalRecord, type FleetKeyRing } from './approval-record.ts';
import { type StatementSigner, signDecision } from './decision-statement.ts';
import { countDecisions, findDecision, listDecisions } from './decision-store.ts';
import { decisionDetail, decisionItem } from './read-decision.ts';

const ofUpdate: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: { of: 'update', by: 'id' } };
const reading: OperatorAccess = { ...ofUpdate, reach: { of: 'decision', by: 'id' } };
const tags = ['decisions'];

/** Decisions of the gate with their evidence, each as a signed statement, and the approval that came of the last. */
export function mountDecisions(
  routes: Routes,
  { platform, keyRing }: { platform: Platform; keyRing: StatementSigner & FleetKeyRing },
): void {
  const { database, now } = platform;

  routes.operator({
    method: 'GET',
    url: '/api/v1/updates/:id/approval',
    access: ofUpdate,
    schema: {
      summary:
        'How an update came to be approved: by whom, through what, why against the gate, and signed by whom',
      tags: ['approvals'],
      params: IdPath,
      response: { 200: ApprovalOfUpdate },
    },
    handler: async ({ operator, params: { id: updateId } }) => {
      if (!(await findUpdate(database.read, updateId))) throw noSuch('update');
      const isFleetWide = operator.groups === null;
      return { approval: await approvalRecord(database.read, keyRing, { updateId, isFleetWide }) };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/updates/:id/decisions',
    access: ofUpdate,
    schema: {
      summary: 'Decisions about an update, newest first',
      tags,
      params: IdPath,
      querystring: strict(PageQuery),
      response: { 200: pageOf(DecisionItem) },
    },
    handler: async ({ params: { id: updateId }, query }) => {
      const { limit, after: before } = askedPage(query);
      if (!(await findUpdate(database.read, updateId))) {
        throw noSuch('update');
      }
      const rows = await listDecisions(database.read, { updateId, limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      return {
        items: page.map(decisionItem),
        next_cursor,
        total: await countDecisions(database.read, updateId),
      };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/decisions/:id',
    access: reading,
    schema: {
      summary: 'One decision with its evidence',
      tags,
      params: IdPath,
      response: { 200: DecisionDetail },
    },
    handler: async ({ params: { id } }) => {
      const row = await findDecision(database.read, id);
      if (!row) throw noSuch('decision');
      return decisionDetail(row);
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/decisions/:id/statement',
    access: reading,
    schema: {
      summary: 'One decision as an in-toto statement, signed now by the key in use',
      tags,
      params: IdPath,
      response: { 200: Envelope },
      refuses: ['conflict'],
    },
    handler: async ({ params: { id } }) => {
      const outcome = await signDecision(database.read, keyRing, { id, nowMs: now() });
      switch (outcome.kind) {
        case 'signed':
          return outcome.envelope;
        case 'not_found':
          throw noSuch('decision');
        case 'no_plan':
          throw new Refusal('conflict', {
            detail: 'No plan was known at that time, so there is no artifact to name.',
          });
        case 'too_large':
          throw new Refusal('conflict', {
            detail: 'The plan of this decision is too large for one statement.',
          });
      }
    },
  });
}
