import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** A pattern for LIKE on a column in lower case, with `\` as its escape: the text anywhere. */
export function containing(text: string): string {
  return `%${escaped(lowered(text))}%`;
}

/** Whether a column is as the pattern says, in which `*` stands for any characters and case does not count. */
export function globbing(column: RawBuilder<unknown>, pattern: string): RawBuilder<SqlBool> {
  const text = lowered(pattern);
  const star = text.indexOf('*');
  if (star === -1) return sql<SqlBool>`lower(${column}) = ${text}`;
  const isLike = sql<SqlBool>`lower(${column}) LIKE ${text.split('*').map(escaped).join('%')} ESCAPE '\\'`;
  const start = text.slice(0, star);
  // What begins alike is one stretch of the index of names in lower case.
  const isFrom = sql<SqlBool>`lower(${column}) >= ${start} AND lower(${column}) < ${`${start}\u{10ffff}`}`;
  if (start === '') return isLike;
  // Not asked twice: PostgreSQL would take the rows for as few as if the two had nothing to do with each other.
  return star === text.length - 1 ? isFrom : sql<SqlBool>`${isFrom} AND ${isLike}`;
}

/** As lower() of both engines does it for columns in the order of bytes. */
export function lowered(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
