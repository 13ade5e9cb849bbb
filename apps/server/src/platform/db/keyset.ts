import { type RawBuilder, type SqlBool, sql } from 'kysely';

export type SortValue = string | number | null;

/** The last row of the page before: what it was sorted by, and its id. */
export interface Position {
  readonly key: readonly SortValue[];
  readonly id: string;
}

export interface KeyPart {
  readonly type: 'string' | 'number';
  /** Only the first part of a key may be null; rows where it is stand last in both directions. */
  readonly isNullable?: boolean;
}

/** An expression that rows are sorted by. */
export interface SortPart extends KeyPart {
  readonly by: RawBuilder<unknown>;
}

/** An order of rows: by the parts, then by the id, all in one direction. */
export interface Order {
  readonly parts: readonly SortPart[];
  readonly id: RawBuilder<unknown>;
  readonly descending: boolean;
}

/**
 * One stretch of an order in which no null is among the values, so that an index gives its rows in order and a place in
 * it is found by comparing. An order that has nulls is two of them, one after the other.
 */
interface Stretch {
  readonly where: readonly RawBuilder<SqlBool>[];
  readonly orderBy: RawBuilder<unknown>;
}

/** What is left of an order behind a position, in at most two stretches to be read one after the other. */
export function stretchesOf(order: Order, after: Position | null): Stretch[] {
  const [first, ...rest] = order.parts;
  if (first === undefined) throw new Error('an order has at least one part');
  if (first.isNullable !== true) return [stretch(order, order.parts, after)];
  const isNull = sql<SqlBool>`${first.by} IS NULL`;
  const atNull = after !== null && after.key[0] === null;
  const nulls = stretch(order, rest, atNull ? { ...after, key: after.key.slice(1) } : null);
  const known = stretch(order, order.parts, after);
  return [
    ...(atNull ? [] : [{ ...known, where: [sql<SqlBool>`${first.by} IS NOT NULL`, ...known.where] }]),
    { ...nulls, where: [isNull, ...nulls.where] },
  ];
}

function stretch({ id, descending }: Order, parts: readonly SortPart[], after: Position | null): Stretch {
  const terms = [...parts.map(({ by }) => by), id];
  return {
    where: after === null ? [] : [isAfter(terms, [...after.key, after.id], descending)],
    orderBy: orderBy(terms, descending),
  };
}

/** The whole order at once, for rows that are few enough to be sorted anyway. */
export function sortedBy({ parts, id, descending }: Order): RawBuilder<unknown> {
  const nullsLast = parts
    .slice(0, 1)
    .flatMap(({ by, isNullable }) => (isNullable ? [sql`(${by} IS NULL)`] : []));
  return sql.join([...nullsLast, orderBy([...parts.map(({ by }) => by), id], descending)]);
}

/** Whether a row stands behind the position in the whole order. */
export function isBehind(order: Order, after: Position): RawBuilder<SqlBool> {
  const stretches = stretchesOf(order, after).map(
    ({ where }) => sql`(${sql.join([...where, sql`1 = 1`], sql` AND `)})`,
  );
  return sql<SqlBool>`(${sql.join(stretches, sql` OR `)})`;
}

function isAfter(
  terms: readonly RawBuilder<unknown>[],
  values: readonly SortValue[],
  descending: boolean,
): RawBuilder<SqlBool> {
  const sign = descending ? sql`<` : sql`>`;
  const [term] = terms;
  if (term !== undefined && terms.length === 1) return sql<SqlBool>`${term} ${sign} ${values[0]}`;
  return sql<SqlBool>`(${sql.join(terms)}) ${sign} (${sql.join(values)})`;
}

function orderBy(terms: readonly RawBuilder<unknown>[], descending: boolean): RawBuilder<unknown> {
  return sql.join(terms.map((term) => (descending ? sql`${term} DESC` : sql`${term} ASC`)));
}
