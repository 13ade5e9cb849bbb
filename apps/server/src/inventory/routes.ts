import {
  DELTA_MAX_BYTES,
  INVENTORY_MAX_BYTES,
  INVENTORY_MAX_PARTS,
  InventoryAnswer,
  InventoryDelta,
  InventoryReport,
  PartAnswer,
} from '@tidegate/protocol/agent-api';
import { Ecosystem, Sha256Hex, strict, Uuid } from '@tidegate/protocol/scalars';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { demandRoomFor } from '../platform/http/large-work.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { mountInstalled } from './installed-routes.ts';
import { LARGE_COMPRESSED_BYTES, SMALL_REPORT_MAX_BYTES } from './large-reports.ts';
import { mountRepairs } from './repair-routes.ts';
import { takeDelta } from './take-delta.ts';
import { takePart } from './take-part.ts';
import { type TakeDeps, takeReport } from './take-report.ts';

/** Sizes as sent, in bytes, above which a worker thread parses the report. */
const LARGE = { plain: SMALL_REPORT_MAX_BYTES, compressed: LARGE_COMPRESSED_BYTES };
/** Paths and queries contain text only. */
const PartNumber = Type.String({ pattern: '^[0-9]{1,2}$' });

/** Inventory reports of agents, and what operators read of them. */
export function mountInventory(routes: Routes, deps: TakeDeps): void {
  routes.agent({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/inventory/:ecosystem',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: INVENTORY_MAX_BYTES,
    rawBody: InventoryReport,
    beforeBody: (caller) => demandRoomFor(deps.large, caller, LARGE),
    schema: {
      summary: 'Installed packages and available updates of one ecosystem',
      tags: ['agents'],
      params: strict({ agent_id: Uuid, ecosystem: Ecosystem }),
      response: { 200: InventoryAnswer },
      refuses: ['conflict', 'inventory_too_large', 'host_budget_spent'],
    },
    handler: async ({ agent: { agentId }, params, request }) => {
      return takeReport(deps, { agentId, ecosystem: params.ecosystem, bytes: takeBytes(request) });
    },
  });
  routes.agent({
    method: 'PATCH',
    url: '/api/v1/agents/:agent_id/inventory/:ecosystem',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: DELTA_MAX_BYTES,
    rawBody: InventoryDelta,
    schema: {
      summary: 'What has changed since a complete report that the server has',
      description:
        'base_sha256 is the digest of the report that the server has, report_sha256 that of the report that comes of it, both as check-ins name them. The server refuses with 409 whole_report_required what does not fit its report.',
      tags: ['agents'],
      params: strict({ agent_id: Uuid, ecosystem: Ecosystem }),
      response: { 200: InventoryAnswer },
      refuses: ['whole_report_required', 'host_budget_spent'],
    },
    handler: async ({ agent: { agentId }, params, request }) => {
      return takeDelta(deps, { agentId, ecosystem: params.ecosystem, bytes: takeBytes(request) });
    },
  });
  routes.agent({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/inventory/:ecosystem/parts/:report_sha256/:part',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: INVENTORY_MAX_BYTES,
    rawBody: InventoryReport,
    beforeBody: (caller) => demandRoomFor(deps.large, caller, LARGE),
    schema: {
      summary: 'One part of a report that is too large for one request; recorded with the last part',
      description:
        'report_sha256 is the SHA-256, in hex, of the digests of all parts in their order: the SHA-256 of each body before compression, in hex, one per line, without a newline at the end. Each part is a whole report; scanned_at and complete are the same in all.',
      tags: ['agents'],
      params: strict({
        agent_id: Uuid,
        ecosystem: Ecosystem,
        report_sha256: Sha256Hex,
        part: PartNumber,
      }),
      querystring: strict({ parts: PartNumber }),
      response: { 200: InventoryAnswer, 202: PartAnswer },
      refuses: ['conflict', 'inventory_too_large', 'host_budget_spent'],
    },
    handler: async ({ agent: { agentId }, params, query, request, reply }) => {
      const { ecosystem, report_sha256: report } = params;
      const part = Number(params.part);
      const parts = Number(query.parts);
      if (parts < 2 || parts > INVENTORY_MAX_PARTS || part < 1 || part > parts) {
        throw new Refusal('invalid_request', {
          detail: 'There is no such part.',
          errors: [
            { path: 'params/part', message: `must be 1 to parts, which is 2 to ${INVENTORY_MAX_PARTS}` },
          ],
        });
      }
      const bytes = takeBytes(request);
      const outcome = await takePart(deps, { agentId, ecosystem, report, part, parts, bytes });
      switch (outcome.kind) {
        case 'kept':
          reply.code(202);
          return outcome.answer;
        case 'recorded':
          return outcome.answer;
      }
    },
  });
  mountInstalled(routes, deps);
  mountRepairs(routes, deps);
}

/** Takes the bytes out of the request, because another thread may get them. */
function takeBytes(request: Pick<FastifyRequest, 'rawBody'>): Buffer {
  const bytes = request.rawBody;
  if (!bytes) throw new Refusal('invalid_request', { detail: 'The body is missing.' });
  request.rawBody = null;
  return bytes;
}
