import { sql } from 'kysely';
import type { Db } from './engine.ts';

/**
 * The start of a query about some hosts that looks at one after another: join the other table by `h.id` with `crossJoin`, whose
 * order SQLite keeps. It has no statistics, takes a list of hosts for more rows than a state or an action has, and would
 * read those of the whole fleet for each list.
 */
export function fromHosts(db: Db, ids: readonly string[]) {
  return db.selectFrom('agents as h').where('h.id', 'in', ids);
}

/** A text column as an expression, by which no index is searched: SQLite would prefer that of a column with few values. */
export function anyIndexBut(column: string) {
  return sql<string>`(${sql.ref(column)} || '')`;
}
