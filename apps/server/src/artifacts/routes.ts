import {
  ArtifactSightings,
  DecideDivergenceRequest,
  DecideManyRequest,
  DecideManyResult,
  Divergence,
  UndoDecisionRequest,
} from '@tidegate/protocol/artifacts-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { BULK_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { decideDivergence, undoDecision } from './decide-divergence.ts';
import { decideMany } from './decide-many.ts';
import { distributionOf } from './identity-rules.ts';
import { sightingsOfArtifact } from './sighting-store.ts';
import {
  countDivergences,
  type DivergenceRow,
  findDivergence,
  type HashRow,
  hashesOf,
  listDivergences,
} from './store.ts';

/** Most sightings in one answer; the oldest come first. */
const SIGHTINGS_MAX = 500;
const PATH = '/api/v1/artifacts/divergences';
const tags = ['artifacts'];
const reading: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
// An accepted hash passes what the gate stops, so an API token needs the scope of an override.
const deciding: OperatorAccess = { role: 'approver', limit: 'approvals', reach: 'fleet', scope: 'override' };

/** Artifacts that were reported with different hashes, and the operator's decision about each. */
export function mountArtifacts(routes: Routes, { platform }: { platform: Platform }): void {
  const { database } = platform;

  routes.operator({
    method: 'GET',
    url: PATH,
    access: reading,
    schema: {
      summary: 'Artifacts with more than one hash, newest first',
      tags,
      querystring: strict({
        ...PageQuery,
        open: Type.Optional(
          Type.Enum(['true', 'false'], { description: 'only open ones, or only decided ones' }),
        ),
      }),
      response: { 200: pageOf(Divergence) },
    },
    handler: async ({ query }) => {
      const { limit, after: before } = askedPage(query);
      const state = query.open === undefined ? null : query.open === 'true' ? 'open' : 'decided';
      const rows = await listDivergences(database.read, { state, limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const ids = page.map(({ id }) => id);
      const hashes = Map.groupBy(await hashesOf(database.read, ids), ({ divergence_id: id }) => id);
      return {
        items: page.map((row) => view(row, hashes.get(row.id) ?? [])),
        next_cursor,
        total: await countDivergences(database.read, state),
      };
    },
  });

  routes.operator({
    method: 'GET',
    url: `${PATH}/:id`,
    access: reading,
    schema: {
      summary: 'One artifact with more than one hash',
      tags,
      params: IdPath,
      response: { 200: Divergence },
      refuses: ['not_found'],
    },
    handler: async ({ params: { id } }) => {
      const row = await findDivergence(database.read, id);
      if (!row) throw noSuch('divergence');
      return view(row, await hashesOf(database.read, [id]));
    },
  });

  routes.operator({
    method: 'GET',
    url: `${PATH}/:id/sightings`,
    access: reading,
    schema: {
      summary: 'Reports of an artifact with more than one hash, oldest first',
      tags,
      params: IdPath,
      response: { 200: ArtifactSightings },
      refuses: ['not_found'],
    },
    handler: async ({ params: { id } }) => {
      const row = await findDivergence(database.read, id);
      if (!row) throw noSuch('divergence');
      const sightings = await sightingsOfArtifact(database.read, row, SIGHTINGS_MAX);
      return {
        items: sightings.map(({ status, deleted_at, set_aside_at, differs, seen_at, ...said }) => ({
          ...said,
          counts: status === 'active' && deleted_at === null && set_aside_at === null,
          differs: differs === 1,
          seen_at: rfc3339(seen_at),
        })),
      };
    },
  });

  routes.operator({
    method: 'POST',
    url: `${PATH}/decide`,
    access: deciding,
    bodyMaxBytes: BULK_BODY_MAX_BYTES,
    schema: {
      summary: 'Decide several divergences one by one; the answer names those that failed',
      tags,
      body: DecideManyRequest,
      response: { 200: DecideManyResult },
    },
    handler: async ({ operator, body }) =>
      decideMany(platform, { request: body, operator: operator.username }),
  });

  routes.operator({
    method: 'POST',
    url: `${PATH}/:id/decide`,
    access: deciding,
    bodyMaxBytes: BULK_BODY_MAX_BYTES,
    schema: {
      summary: 'Accept one hash of an artifact, or all of them; the others stay blocked',
      tags,
      params: IdPath,
      body: DecideDivergenceRequest,
      response: { 200: Divergence },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator: { username: operator }, params, body }) => {
      const asked = { id: params.id, request: body, operator };
      const outcome = await decideDivergence(platform, asked);
      switch (outcome.kind) {
        case 'decided':
          return view(outcome.divergence, outcome.hashes);
        case 'not_found':
          throw noSuch('divergence');
        case 'hash_of_another_kind':
          throw notValid([
            {
              path: '/accept',
              message: `is not a ${outcome.algorithm} hash, which identifies this artifact; allowed: one in lower-case hex, or all`,
            },
          ]);
        case 'count_differs':
          throw new Refusal('conflict', {
            detail: `The artifact now has ${outcome.count} hashes: review them before you decide.`,
            extra: { count: outcome.count },
          });
      }
    },
  });

  routes.operator({
    method: 'POST',
    url: `${PATH}/:id/undo`,
    access: deciding,
    bodyMaxBytes: BULK_BODY_MAX_BYTES,
    schema: {
      summary: "Undo an operator's decision; the registry and hosts decide again",
      tags,
      params: IdPath,
      body: UndoDecisionRequest,
      response: { 200: Divergence },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator: { username: operator }, params, body }) => {
      const asked = { id: params.id, request: body, operator };
      const outcome = await undoDecision(platform, asked);
      switch (outcome.kind) {
        case 'undone':
          return view(outcome.divergence, outcome.hashes);
        case 'not_found':
          throw noSuch('divergence');
        case 'not_decided':
          throw new Refusal('conflict', {
            detail: 'There is no decision of an operator to undo.',
          });
      }
    },
  });
}

function view(row: DivergenceRow, hashes: readonly HashRow[]): Divergence {
  const { id, ecosystem, scope, name, version, variant, algorithm, settled_by } = row;
  const isDecided = row.state === 'decided' && settled_by === 'operator';
  return Value.Parse(Divergence, {
    ...{ id, ecosystem, name, version, algorithm, settled_by },
    state: row.state === 'open' ? 'open' : isDecided ? 'decided' : 'settled',
    distribution: distributionOf(scope),
    variant: variant === '' ? null : variant,
    hashes: hashes.map(({ divergence_id: _, seen_at, ...hash }) => ({ ...hash, seen_at: rfc3339(seen_at) })),
    opened_at: rfc3339(row.opened_at),
    decided_at: isDecided && row.decided_at !== null ? rfc3339(row.decided_at) : null,
    decided_by: isDecided ? row.decided_by : null,
    reason: isDecided ? row.reason : null,
  });
}
