import { ADMINISTRATION_EVENT_TYPES } from '@tidegate/protocol/event-types';
import { EVENT_SORT_DEFAULT, EVENT_SORTS, EventFilter, EventSort } from '@tidegate/protocol/events-api';
import { directionOf } from '@tidegate/protocol/lists-api';
import { nullable, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { rfc3339 } from '../platform/clock.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { badCursor, pageLimit } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import {
  pageOfRows,
  positionOf,
  SortedPageQuery,
  sortedPageOf,
  totalOf,
} from '../platform/http/sorted-lists.ts';
import type { Platform } from '../platform/platform.ts';
import { listPageOfEvents } from './list-store.ts';
import type { SeparateEvent, SeparateEvents } from './separate-events.ts';
import { type EventFilter as Filter, findEvent, type ListedEvent } from './store.ts';

const EventQuery = strict({ ...SortedPageQuery, sort: Type.Optional(EventSort), ...EventFilter });

const TextOrNull = nullable(Type.String());
const EventItem = Type.Object({
  id: Uuid,
  kind: Type.Enum(['security', 'system']),
  type: Type.String(),
  severity: Type.String(),
  component: Type.String(),
  agent_id: TextOrNull,
  hostname: nullable(Type.String(), {
    description: 'current name of the host; not covered by the hash',
  }),
  actor: TextOrNull,
  content: Type.Unknown(),
  created_at: Timestamp,
  position: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'position in the chain, without gaps; absent for operators who are bound to groups of hosts',
    }),
  ),
  previous_hash: TextOrNull,
  hash: Type.String(),
});

const listing: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };

/** E9: security and system events, newest first. */
export function mountEvents(
  routes: Routes,
  { platform, separate }: { platform: Platform; separate: SeparateEvents },
): void {
  routes.operator({
    method: 'GET',
    url: '/api/v1/events',
    access: listing,
    schema: {
      summary: 'Events in the order of the log, newest first by default',
      description:
        'Browser errors (client_error) are not in the log; they are listed when the filter names their type.',
      tags: ['events'],
      querystring: EventQuery,
      response: { 200: sortedPageOf(EventItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = EVENT_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const of = { sort, filter, key: [] };
      const after = positionOf(cursor, of);
      const { groups } = operator;
      const { descending } = directionOf(sort, EVENT_SORTS);
      if (filter.type === separate.type) {
        // They name no host, so operators who are bound to groups see none.
        const asked = { filter: filterOf(filter), q: filter.q, descending, limit: limit + 1 };
        const found =
          groups === null
            ? await separate.list(platform.database.read, { ...asked, after: after?.id ?? null })
            : NONE;
        const last = (row: SeparateEvent) => ({ key: [], id: row.id });
        const { page, next_cursor } = pageOfRows(found.rows, { limit, of, positionOf: last });
        return { items: page.map(separateItemOf), next_cursor, ...totalOf(found.count) };
      }
      const { rows, count } = await listPageOfEvents(platform.database.read, {
        selection: {
          filter: filterOf(filter),
          scope: groups,
          q: filter.q,
          types: TYPES_ABOUT[filter.about ?? 'all'],
        },
        descending,
        limit: limit + 1,
        after: after === null ? null : positionIn(after.id),
      });
      const position = (row: ListedEvent) => ({ key: [], id: String(row.position) });
      const { page, next_cursor } = pageOfRows(rows, { limit, of, positionOf: position });
      return { items: page.map((row) => itemOf(row, groups)), next_cursor, ...totalOf(count) };
    },
  });
  routes.operator({
    method: 'GET',
    url: '/api/v1/events/:id',
    access: { ...listing, reach: { of: 'event', by: 'id' } },
    schema: {
      summary: 'One event',
      tags: ['events'],
      params: IdPath,
      response: { 200: EventItem },
    },
    handler: async ({ operator, params }) => {
      const row = await findEvent(platform.database.read, params.id);
      if (row) return itemOf(row, operator.groups);
      const found = await separate.find(platform.database.read, params.id);
      if (!found) throw noSuch('event');
      return separateItemOf(found);
    },
  });
}

/** Null: every type. */
const TYPES_ABOUT = { all: null, administration: ADMINISTRATION_EVENT_TYPES } as const;

const NONE: { rows: SeparateEvent[]; count: number } = { rows: [], count: 0 };

const Query = strict(EventFilter);

function filterOf(query: Static<typeof Query>): Filter {
  const { kind, type, severity, component, agent_id: agentId, since, until } = query;
  return {
    ...{ kind, type, severity, component, agentId },
    sinceMs: since === undefined ? undefined : Date.parse(since),
    untilMs: until === undefined ? undefined : Date.parse(until),
  };
}

function positionIn(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badCursor('is not a cursor that this list gave');
}

/** The position in the chain is only for operators who see the whole fleet. */
function itemOf(row: ListedEvent, scope: GroupScope) {
  const { position, created_at, content, ...rest } = row;
  const parsed: unknown = JSON.parse(content);
  const place = scope === null ? { position } : {};
  return { ...rest, ...place, content: parsed, created_at: rfc3339(created_at) };
}

function separateItemOf({ created_at, content, ...rest }: SeparateEvent) {
  const parsed: unknown = JSON.parse(content);
  return { ...rest, content: parsed, created_at: rfc3339(created_at) };
}
