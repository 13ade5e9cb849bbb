import { TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { nullable } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { KeyPart, Position, SortValue } from '../db/keyset.ts';
import { sha256Hex } from '../sha256.ts';
import { badCursor, cursorValues, encodeValues, PageQuery } from './lists.ts';

/**
 * Query parameters of a sortable list; its cursors contain the sort values of a row, so they may be longer.
 */
export const SortedPageQuery = {
  ...PageQuery,
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
};

/** The list that a cursor belongs to. A cursor is invalid for a list with another sort or filter. */
export interface CursorOf {
  readonly sort: string;
  readonly filter: object;
  /** The columns that the rows are sorted by. */
  readonly key: readonly KeyPart[];
}

export function encodePosition(of: CursorOf, { key, id }: Position): string {
  return encodeValues([markOf(of), id, ...key]);
}

/**
 * Null without a cursor. Throws a Refusal when this list, with this sort and filter, did not make the cursor.
 */
export function positionOf(cursor: string | undefined, of: CursorOf): Position | null {
  if (cursor === undefined) return null;
  const [mark, id, ...key] = cursorValues(cursor);
  if (typeof mark !== 'string' || typeof id !== 'string')
    throw badCursor('is not a cursor that this list gave');
  if (mark !== markOf(of)) {
    throw badCursor('is of a list that is sorted or filtered in another way: start without it');
  }
  const isWhole = key.length === of.key.length && key.every((value, i) => isOf(value, of.key[i]));
  if (!isWhole) throw badCursor('is not a cursor that this list gave');
  return { key, id };
}

function isOf(value: SortValue, part: KeyPart | undefined): boolean {
  return value === null ? part?.isNullable === true : typeof value === part?.type;
}

const MARK_CHARS = 16;

function markOf({ sort, filter }: CursorOf): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  const text = JSON.stringify([sort, given.map(([name, value]) => [name, String(value)]).toSorted()]);
  return sha256Hex(text).slice(0, MARK_CHARS);
}

/** One page of rows that were read with `limit + 1`, and the cursor of the next page. */
export function pageOfRows<Row>(
  rows: readonly Row[],
  args: { limit: number; of: CursorOf; positionOf: (row: Row) => Position },
): { page: Row[]; next_cursor: string | null } {
  const page = rows.slice(0, args.limit);
  const last = page.at(-1);
  const isMore = rows.length > args.limit && last !== undefined;
  return { page, next_cursor: isMore ? encodePosition(args.of, args.positionOf(last)) : null };
}

/** `total` of a list, from a count that stops at TOTAL_MAX + 1. */
export function totalOf(count: number): { total: number; total_is_capped?: true } {
  return count > TOTAL_MAX ? { total: TOTAL_MAX, total_is_capped: true } : { total: count };
}

/** Like `pageOf`, with a total that is counted up to TOTAL_MAX. */
export function sortedPageOf<T extends Parameters<typeof Type.Array>[0]>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    next_cursor: nullable(Type.String()),
    total: Type.Integer({
      minimum: 0,
      maximum: TOTAL_MAX,
      description: `counted up to ${TOTAL_MAX}; where there are more, total_is_capped is true`,
    }),
    total_is_capped: Type.Optional(Type.Literal(true)),
  });
}
