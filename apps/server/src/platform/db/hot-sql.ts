import type { HotSql, SqlValue } from './engine.ts';

/**
 * A statement of the hot path from one text for both engines, whose values are `?` in their order. `IN ?texts` and
 * `IN ?integers` take a list.
 */
export function hotSql(name: string, statement: string): HotSql {
  let values = 0;
  return {
    name,
    sqlite: statement.replaceAll(/\?(texts|integers)/g, '(SELECT value FROM json_each(?))'),
    postgres: statement.replaceAll(/IN \?(texts|integers)|\?/g, (_, list?: string) => {
      const value = `$${++values}`;
      return list === undefined ? value : `= ANY(${value}::${list === 'texts' ? 'text' : 'integer'}[])`;
    }),
  };
}

/** The text of a column. */
export function text(value: SqlValue | undefined): string {
  if (typeof value !== 'string') throw new TypeError('a text column holds no text');
  return value;
}

export function textOrNull(value: SqlValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
