import { directionOf } from '@tidegate/protocol/lists-api';
import {
  UPDATE_SORT_DEFAULT,
  UPDATE_SORTS,
  type UpdateSort,
  type UpdateSortField,
} from '@tidegate/protocol/updates-api';
import { type RawBuilder, sql } from 'kysely';
import type { Order, Position, SortPart, SortValue } from '../platform/db/keyset.ts';
import { SEVERITIES_RISING } from './queue-rules.ts';

const text = (by: RawBuilder<unknown>): SortPart => ({ by, type: 'string' });
const number = (by: RawBuilder<unknown>): SortPart => ({ by, type: 'number' });
const maybe = (by: RawBuilder<unknown>): SortPart => ({ by, type: 'number', isNullable: true });

/** Higher is worse; exactly the expression of the index. */
export const SEVERITY_RANK =
  "CASE u.severity WHEN 'critical' THEN 6 WHEN 'high' THEN 5 WHEN 'medium' THEN 4 WHEN 'low' THEN 3 WHEN 'none' THEN 2 WHEN 'unknown' THEN 1 END";

interface Sorting {
  readonly parts: readonly SortPart[];
  readonly of: (row: Sorted) => readonly SortValue[];
  /** Whether its default direction is descending: the worst and the most urgent come first. */
  readonly falls?: true;
}

interface Sorted {
  readonly id: string;
  readonly discovered_at: number;
  readonly updated_at: number;
  readonly name: string;
  readonly hostname: string;
  readonly state: string;
  readonly severity: string | null;
  readonly queue_rank: number | null;
  readonly fix_rank: number;
}

const FIELDS: Record<UpdateSortField, Sorting> = {
  discovered_at: { parts: [number(sql`u.discovered_at`)], of: (row) => [row.discovered_at] },
  updated_at: { parts: [number(sql`u.updated_at`)], of: (row) => [row.updated_at] },
  name: { parts: [text(sql`u.name`)], of: (row) => [row.name] },
  hostname: { parts: [text(sql`a.hostname`)], of: (row) => [row.hostname] },
  state: { parts: [text(sql`u.state`)], of: (row) => [row.state] },
  severity: { parts: [maybe(sql.raw(SEVERITY_RANK))], of: (row) => [rankOf(row.severity)], falls: true },
  exploited: {
    parts: [maybe(sql`u.queue_rank`), number(sql`u.discovered_at`)],
    of: (row) => [row.queue_rank, row.discovered_at],
    falls: true,
  },
  urgency: {
    parts: [number(sql`u.fix_rank`), number(sql`(-u.discovered_at)`)],
    of: (row) => [row.fix_rank, -row.discovered_at],
    falls: true,
  },
};

function rankOf(severity: string | null): number | null {
  return severity === null ? null : 1 + SEVERITIES_RISING.indexOf(severity);
}

export function updatePosition({ field }: UpdateOrder, row: Sorted): Position {
  return { key: FIELDS[field].of(row), id: row.id };
}

export interface UpdateOrder extends Order {
  readonly field: UpdateSortField;
}

export function updateOrder(sort: UpdateSort = UPDATE_SORT_DEFAULT): UpdateOrder {
  const { field, descending } = directionOf<UpdateSortField>(sort, UPDATE_SORTS);
  const { parts, falls = false } = FIELDS[field];
  return { field, parts, id: sql`u.id`, descending: descending !== falls };
}
