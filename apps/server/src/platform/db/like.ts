import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** A LIKE pattern that finds the text anywhere in a lower-case column; the escape is `\`. */
export function containing(text: string): string {
  return `%${escaped(lowered(text))}%`;
}

/** Whether a column matches the pattern; `*` stands for any characters, and case is ignored. */
export function globbing(column: RawBuilder<unknown>, pattern: string): RawBuilder<SqlBool> {
  const text = lowered(pattern);
  const star = text.indexOf('*');
  if (star === -1) return sql<SqlBool>`lower(${column}) = ${text}`;
  const isLike = sql<SqlBool>`lower(${column}) LIKE ${text.split('*').map(escaped).join('%')} ESCAPE '\\'`;
  const start = text.slice(0, star);
  // Names with the same prefix are one range of the index of lower-case names.
  const isFrom = sql<SqlBool>`lower(${column}) >= ${start} AND lower(${column}) < ${`${start}\u{10ffff}`}`;
  if (start === '') return isLike;
  // Only one condition where it suffices: PostgreSQL multiplies the two estimates as if they were independent.
  return star === text.length - 1 ? isFrom : sql<SqlBool>`${isFrom} AND ${isLike}`;
}

/** Lower case as both engines' lower() has it for columns in byte order: ASCII letters only. */
export function lowered(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
