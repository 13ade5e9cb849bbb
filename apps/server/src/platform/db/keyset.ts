import { type RawBuilder, type SqlBool, sql } from 'kysely';

export type SortValue = string | number | null;

/** The last row of the previous page: its sort key and its id. */
export interface Position {
  readonly key: readonly SortValue[];
  readonly id: string;
}

export interface KeyPart {
  readonly type: 'string' | 'number';
  /** Only the first part of a key may be null; null sorts last in both directions. */
  readonly isNullable?: boolean;
}

/** An expression that rows are sorted by. */
export interface SortPart extends KeyPart {
  readonly by: RawBuilder<unknown>;
}

/** Sorts rows by the parts, then by id, all in one direction. */
export interface Order {
  readonly parts: readonly SortPart[];
  readonly id: RawBuilder<unknown>;
  readonly descending: boolean;
}

/**
 * A range of an order without nulls among its values: an index returns its rows in order, and comparing finds a
 * position in it. An order with nulls is two ranges, one after the other.
 */
interface Range {
  readonly where: readonly RawBuilder<SqlBool>[];
  readonly orderBy: RawBuilder<unknown>;
}

/** The rest of an order after a position, as one or two ranges to read in turn. */
export function rangesOf(order: Order, after: Position | null): Range[] {
  const [first, ...rest] = order.parts;
  if (first === undefined) throw new Error('an order has at least one part');
  if (first.isNullable !== true) return [rangeOf(order, order.parts, after)];
  const isNull = sql<SqlBool>`${first.by} IS NULL`;
  const atNull = after !== null && after.key[0] === null;
  const nulls = rangeOf(order, rest, atNull ? { ...after, key: after.key.slice(1) } : null);
  const known = rangeOf(order, order.parts, after);
  return [
    ...(atNull ? [] : [{ ...known, where: [sql<SqlBool>`${first.by} IS NOT NULL`, ...known.where] }]),
    { ...nulls, where: [isNull, ...nulls.where] },
  ];
}

function rangeOf({ id, descending }: Order, parts: readonly SortPart[], after: Position | null): Range {
  const terms = [...parts.map(({ by }) => by), id];
  return {
    where: after === null ? [] : [isAfter(terms, [...after.key, after.id], descending)],
    orderBy: orderBy(terms, descending),
  };
}

/** The whole order as one expression, for lists small enough to sort without an index. */
export function sortedBy({ parts, id, descending }: Order): RawBuilder<unknown> {
  const nullsLast = parts
    .slice(0, 1)
    .flatMap(({ by, isNullable }) => (isNullable ? [sql`(${by} IS NULL)`] : []));
  return sql.join([...nullsLast, orderBy([...parts.map(({ by }) => by), id], descending)]);
}

/** The key of each row as the columns `k0`, `k1` and so on. */
export function keyColumns({ parts }: Order): RawBuilder<unknown> {
  return sql.join(parts.map(({ by }, i) => sql`${by} AS ${sql.ref(`k${i}`)}`));
}

/** The same order for rows with their key in the columns of `keyColumns`. */
export function byKeyColumns({ parts, descending }: Order): Order {
  const columns = parts.map((part, i) => ({ ...part, by: sql.ref(`k${i}`) }));
  return { parts: columns, id: sql.ref('id'), descending };
}

/** Whether a row comes after the position in the whole order. */
export function isBehind(order: Order, after: Position): RawBuilder<SqlBool> {
  const ranges = rangesOf(order, after).map(
    ({ where }) => sql`(${sql.join([...where, sql`1 = 1`], sql` AND `)})`,
  );
  return sql<SqlBool>`(${sql.join(ranges, sql` OR `)})`;
}

function isAfter(
  terms: readonly RawBuilder<unknown>[],
  values: readonly SortValue[],
  descending: boolean,
): RawBuilder<SqlBool> {
  const sign = descending ? sql`<` : sql`>`;
  const [term] = terms;
  const compared = values.map(comparedTo);
  if (term !== undefined && terms.length === 1) return sql<SqlBool>`${term} ${sign} ${compared[0]}`;
  return sql<SqlBool>`(${sql.join(terms)}) ${sign} (${sql.join(compared)})`;
}

/**
 * A number stands in the text: PostgreSQL gives a bound one the size of the column, and fails at a made-up one that is larger.
 * A cast would keep SQLite from finding it in an index.
 */
function comparedTo(value: SortValue): RawBuilder<unknown> {
  return typeof value === 'number' ? sql.lit(value) : sql`${value}`;
}

function orderBy(terms: readonly RawBuilder<unknown>[], descending: boolean): RawBuilder<unknown> {
  return sql.join(terms.map((term) => (descending ? sql`${term} DESC` : sql`${term} ASC`)));
}
