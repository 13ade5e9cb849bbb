import { nullable } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { notValid, type Refusal } from './refusal.ts';

export const PAGE_DEFAULT = 50;
export const PAGE_MAX = 200;

/** Query parameters of every list; they arrive as text. */
export const PageQuery = {
  limit: Type.Optional(
    Type.String({
      pattern: '^(0{0,2}[1-9]|0?[1-9][0-9]|1[0-9]{2}|200)$',
      description: '1 to 200; default 50',
    }),
  ),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
};

export function pageLimit(query: { limit?: string | undefined }): number {
  if (query.limit === undefined) return PAGE_DEFAULT;
  const limit = Number(query.limit);
  if (limit >= 1 && limit <= PAGE_MAX) return limit;
  throw notValid(
    [{ path: 'querystring/limit', message: `must be between 1 and ${PAGE_MAX}` }],
    'querystring',
  );
}

/** What a client asks of a list that is sorted by one text. */
export interface AskedPage {
  readonly limit: number;
  /** The sort key of the row that the page comes after; null: the first page. */
  readonly after: string | null;
}

/** Throws a Refusal where the limit or the cursor is not valid. */
export function askedPage(query: { limit?: string | undefined; cursor?: string | undefined }): AskedPage {
  const limit = pageLimit(query);
  const after = query.cursor === undefined ? null : String(decodeCursor(query.cursor, 1)[0]);
  return { limit, after };
}

/** One page of rows that were read with `limit + 1`: the row too many says that there is a next page. */
export function cutPage<Row>(
  rows: readonly Row[],
  { limit, keyOf }: { limit: number; keyOf: (row: Row) => string | number },
): { page: Row[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, next_cursor: rows.length > limit && last ? encodeCursor([keyOf(last)]) : null };
}

/** A cursor is the sort key of the last row, opaque to the client. */
export function encodeCursor(values: readonly (string | number)[]): string {
  return encodeValues(values);
}

export function encodeValues(values: readonly (string | number | null)[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** The values of a cursor. Throws a Refusal unless it is a cursor with `length` values. */
export function decodeCursor(cursor: string, length: number): (string | number)[] {
  const values = parse(cursor);
  if (Array.isArray(values) && values.length === length && values.every(isKey)) return values;
  throw badCursor('is not a cursor that this list gave');
}

/** The values of a cursor, which may be null. Throws a Refusal when the text is not a cursor. */
export function cursorValues(cursor: string): (string | number | null)[] {
  const values = parse(cursor);
  if (Array.isArray(values) && values.every(isKeyOrNull)) return values;
  throw badCursor('is not a cursor that this list gave');
}

/** The value of a cursor of a list that is sorted by one integer. Throws a Refusal when it is not one. */
export function decodePositionCursor(cursor: string): number {
  const [position] = decodeCursor(cursor, 1);
  if (typeof position === 'number') return position;
  throw badCursor('is not a cursor that this list gave');
}

export function badCursor(message: string): Refusal {
  return notValid([{ path: 'querystring/cursor', message }], 'querystring');
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}

/** Whether both engines can store the text: PostgreSQL refuses U+0000 and lone surrogates. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function isKey(value: unknown): value is string | number {
  return typeof value === 'string'
    ? value.length <= 512 && isStorable(value)
    : typeof value === 'number' && Number.isSafeInteger(value);
}

function isKeyOrNull(value: unknown): value is string | number | null {
  return value === null || isKey(value);
}

export function pageOf<T extends Parameters<typeof Type.Array>[0]>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    next_cursor: nullable(Type.String()),
    total: Type.Integer({ minimum: 0 }),
  });
}
