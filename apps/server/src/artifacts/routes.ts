import { DecideDivergenceRequest, Divergence } from '@tidegate/protocol/artifacts-api';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import { decodeCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { decideDivergence } from './decide-divergence.ts';
import { distributionOf } from './identity-rules.ts';
import {
  countDivergences,
  type DivergenceRow,
  type DivergentHashRow,
  findDivergence,
  hashesOf,
  listDivergences,
} from './store.ts';

const PATH = '/api/v1/artifacts/divergences';
const tags = ['artifacts'];
const reading = {
  access: { kind: 'operator', role: 'viewer', limit: 'admin_reads', reach: 'fleet' },
} as const;
const params = strict({ id: Uuid });
const none = 'There is no such divergence.';

/** Artifacts that the fleet was told of with different hashes, and the operator's word about each. */
export function mountArtifacts(app: App, { platform }: { platform: Platform }): void {
  const { database } = platform;

  app.route({
    method: 'GET',
    url: PATH,
    config: reading,
    schema: {
      summary: 'Artifacts with more than one hash, newest first',
      tags,
      querystring: strict({
        ...PageQuery,
        open: Type.Optional(Type.Enum(['true', 'false'], { description: 'only those that wait, or do not' })),
      }),
      response: { 200: pageOf(Divergence), 400: Problem },
    },
    handler: async ({ query }) => {
      const limit = pageLimit(query);
      const before = query.cursor === undefined ? null : String(decodeCursor(query.cursor, 1)[0]);
      const state = query.open === undefined ? null : query.open === 'true' ? 'open' : 'decided';
      const rows = await listDivergences(database.read, { state, limit: limit + 1, before });
      const page = rows.slice(0, limit);
      const ids = page.map(({ id }) => id);
      const hashes = Map.groupBy(await hashesOf(database.read, ids), ({ divergence_id: id }) => id);
      const last = page.at(-1);
      return {
        items: page.map((row) => view(row, hashes.get(row.id) ?? [])),
        next_cursor: rows.length > limit && last ? encodeCursor([last.id]) : null,
        total: await countDivergences(database.read, state),
      };
    },
  });

  app.route({
    method: 'GET',
    url: `${PATH}/:id`,
    config: reading,
    schema: {
      summary: 'One artifact with more than one hash',
      tags,
      params,
      response: { 200: Divergence, 404: Problem },
    },
    handler: async ({ params: { id } }) => {
      const row = await findDivergence(database.read, id);
      if (!row) throw new Refusal('not_found', { detail: none });
      return view(row, await hashesOf(database.read, [id]));
    },
  });

  app.route({
    method: 'POST',
    url: `${PATH}/:id/decide`,
    // A way past a block, so for a token what an override is.
    config: {
      access: {
        ...{ kind: 'operator', role: 'approver', limit: 'approvals', reach: 'fleet' },
        scope: 'override',
      },
    },
    schema: {
      summary: 'Accept one hash of an artifact, or all of them; the others stay blocked',
      tags,
      params,
      body: DecideDivergenceRequest,
      response: { 200: Divergence, 400: Problem, 404: Problem, 409: Problem },
    },
    handler: async (request) => {
      const operator = operatorOf(request).username;
      const asked = { id: request.params.id, request: request.body, operator };
      const outcome = await decideDivergence(platform, asked);
      switch (outcome.kind) {
        case 'decided':
          return view(outcome.divergence, outcome.hashes);
        case 'not_found':
          throw new Refusal('not_found', { detail: none });
        case 'unknown_hash':
          throw new Refusal('invalid_request', {
            detail: 'The body is not valid.',
            errors: [
              { path: '/accept', message: 'is none of the hashes of this artifact; allowed: those, or all' },
            ],
          });
        case 'count_differs':
          throw new Refusal('conflict', {
            detail: `The artifact has ${outcome.count} hashes by now: look again before you decide.`,
            extra: { count: outcome.count },
          });
      }
    },
  });
}

function view(row: DivergenceRow, hashes: readonly DivergentHashRow[]): Divergence {
  const { id, ecosystem, scope, name, version, variant, algorithm, state, decided_by, reason } = row;
  return Value.Parse(Divergence, {
    ...{ id, ecosystem, name, version, algorithm, state, decided_by, reason },
    distribution: distributionOf(scope),
    variant: variant === '' ? null : variant,
    hashes: hashes.map(({ hash, standing, agent_id, origin, url, seen_at }) => ({
      ...{ hash, standing, agent_id, origin, url, seen_at: rfc3339(seen_at) },
    })),
    opened_at: rfc3339(row.opened_at),
    decided_at: row.decided_at === null ? null : rfc3339(row.decided_at),
  });
}
