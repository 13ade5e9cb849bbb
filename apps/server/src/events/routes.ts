import { SEVERITIES } from '@tidegate/protocol/event-types';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { rfc3339 } from '../platform/clock.ts';
import { decodePositionCursor, encodeCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { countEvents, type EventRow, findEvent, listEvents } from './store.ts';

const EventQuery = strict({
  ...PageQuery,
  kind: Type.Optional(Type.Enum(['security', 'system'])),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  severity: Type.Optional(Type.Enum(SEVERITIES)),
  component: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  agent_id: Type.Optional(Uuid),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
});

const Nullable = Type.Union([Type.String(), Type.Null()]);
const EventItem = Type.Object({
  id: Uuid,
  kind: Type.Enum(['security', 'system']),
  type: Type.String(),
  severity: Type.String(),
  component: Type.String(),
  agent_id: Nullable,
  actor: Nullable,
  content: Type.Unknown(),
  created_at: Timestamp,
  previous_hash: Nullable,
  hash: Type.String(),
});

const reading = { kind: 'operator', role: 'viewer', limit: 'admin_reads' } as const;

/** E9: security and system events, newest first. */
export function mountEvents(app: App, { platform }: { platform: Platform }): void {
  app.route({
    method: 'GET',
    url: '/api/v1/events',
    config: { access: { ...reading, reach: 'scope' } },
    schema: {
      summary: 'E9: events, newest first',
      tags: ['events'],
      querystring: EventQuery,
      response: { 200: pageOf(EventItem), 400: Problem },
    },
    handler: async (request) => {
      const { query } = request;
      const scope = operatorOf(request).groups;
      const limit = pageLimit(query);
      const filter = {
        kind: query.kind,
        type: query.type,
        severity: query.severity,
        component: query.component,
        agentId: query.agent_id,
        sinceMs: query.since === undefined ? undefined : Date.parse(query.since),
        untilMs: query.until === undefined ? undefined : Date.parse(query.until),
      };
      const before = query.cursor === undefined ? null : decodePositionCursor(query.cursor);
      const db = platform.database.read;
      const rows = await listEvents(db, { filter, scope, limit: limit + 1, before });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        items: page.map(itemOf),
        next_cursor: rows.length > limit && last ? encodeCursor([last.position]) : null,
        total: await countEvents(db, { filter, scope }),
      };
    },
  });
  app.route({
    method: 'GET',
    url: '/api/v1/events/:id',
    config: { access: { ...reading, reach: { of: 'event', by: 'id' } } },
    schema: {
      summary: 'E9: one event',
      tags: ['events'],
      params: strict({ id: Uuid }),
      response: { 200: EventItem, 404: Problem },
    },
    handler: async ({ params }) => {
      const row = await findEvent(platform.database.read, params.id);
      if (!row) throw new Refusal('not_found', { detail: 'There is no such event.' });
      return itemOf(row);
    },
  });
}

function itemOf(row: EventRow) {
  const { position: _, created_at, content, ...rest } = row;
  const parsed: unknown = JSON.parse(content);
  return { ...rest, content: parsed, created_at: rfc3339(created_at) };
}
