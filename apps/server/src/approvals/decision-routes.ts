import { DecisionDetail, DecisionItem } from '@tidegate/protocol/decisions-api';
import { Envelope } from '@tidegate/protocol/documents';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import type { OperatorAccess } from '../platform/http/access.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { findUpdate } from '../updates/store.ts';
import { type StatementSigner, signDecision } from './decision-statement.ts';
import { countDecisions, findDecision, listDecisions } from './decision-store.ts';
import { decisionDetail, decisionItem } from './read-decision.ts';

const ofUpdate: OperatorAccess = {
  role: 'viewer',
  limit: 'admin_reads',
  reach: { of: 'update', by: 'id' },
};
const reading: OperatorAccess = { ...ofUpdate, reach: { of: 'decision', by: 'id' } };
const tags = ['decisions'];
const params = strict({ id: Uuid });
const none = 'There is no such decision.';

/** What the decisions of the gate rested on, and each as a signed statement. */
export function mountDecisions(
  routes: Routes,
  { platform, keyRing }: { platform: Platform; keyRing: StatementSigner },
): void {
  const { database, now } = platform;

  routes.operator({
    method: 'GET',
    url: '/api/v1/updates/:id/decisions',
    access: ofUpdate,
    schema: {
      summary: 'Decisions about an update, newest first',
      tags,
      params,
      querystring: strict(PageQuery),
      response: { 200: pageOf(DecisionItem), 400: Problem, 404: Problem },
    },
    handler: async ({ params: { id: updateId }, query }) => {
      const limit = pageLimit(query);
      const before = query.cursor === undefined ? null : String(decodeCursor(query.cursor, 1)[0]);
      if (!(await findUpdate(database.read, updateId))) {
        throw new Refusal('not_found', { detail: 'There is no such update.' });
      }
      const rows = await listDecisions(database.read, { updateId, limit: limit + 1, before });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        items: page.map(decisionItem),
        next_cursor: rows.length > limit && last ? encodeCursor([last.id]) : null,
        total: await countDecisions(database.read, updateId),
      };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/decisions/:id',
    access: reading,
    schema: {
      summary: 'One decision with all that it rested on',
      tags,
      params,
      response: { 200: DecisionDetail, 404: Problem },
    },
    handler: async ({ params: { id } }) => {
      const row = await findDecision(database.read, id);
      if (!row) throw new Refusal('not_found', { detail: none });
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
      params,
      response: { 200: Envelope, 404: Problem, 409: Problem },
    },
    handler: async ({ params: { id } }) => {
      const outcome = await signDecision(database.read, keyRing, { id, nowMs: now() });
      switch (outcome.kind) {
        case 'signed':
          return outcome.envelope;
        case 'not_found':
          throw new Refusal('not_found', { detail: none });
        case 'no_plan':
          throw new Refusal('conflict', {
            detail: 'No plan was known then: there is no artifact to speak of.',
          });
        case 'too_large':
          throw new Refusal('conflict', {
            detail: 'The plan of this decision is too large for one statement.',
          });
      }
    },
  });
}
